"""Attacks on the console. Each must run nothing, and send nothing to anybody.

What a guest writes comes from a script on a real server. What a host writes (names of sandboxes and
tools, hosts, errors) comes from a server that lies in every field: it serves the same page.
"""

from __future__ import annotations

import http.server
import json
import threading
import time
import urllib.request

from .browser import Page
from .world import CONNECTED, World, check, ended, expected, leaks, run, shown


def payloads(trap: str) -> list[str]:
    code = f"globalThis.pwned=1;document.title='pwned';fetch('{trap}/js');alert(1)"
    host = trap.removeprefix("http:")
    return [
        f'<img src=x onerror="{code}">',
        f"<script>{code}</script>",
        f"</script><script>{code}</script>",
        f"</textarea></title></style><script>{code}</script>",
        f'"><svg/onload="{code}">',
        f"javascript:{code}",
        f'<a href="javascript:{code}" autofocus onfocus="{code}">here</a>',
        f'<iframe src="javascript:{code}"></iframe><iframe srcdoc="<script>{code}</script>"></iframe>',
        f'<link rel="stylesheet" href="{trap}/css"><link rel="dns-prefetch" href="{host}"><link rel="preconnect" href="{trap}">',
        f'<link rel="prefetch" href="{trap}/p"><link rel="prerender" href="{trap}/p"><link rel="icon" href="{trap}/i">',
        f'<meta http-equiv="refresh" content="0;url={trap}/refresh"><base href="{trap}/">',
        f'<img src="{trap}/img"><img srcset="{trap}/set 1x"><picture><source srcset="{trap}/source"></picture>',
        f'<video src="{trap}/v" poster="{trap}/poster" autoplay></video><audio src="{trap}/a" autoplay></audio>',
        f'<object data="{trap}/o"></object><embed src="{trap}/e"><iframe src="{trap}/f"></iframe>',
        f'<style>@import "{trap}/import"; * {{ background: url({trap}/bg) }}</style><p style="background:url({trap}/style)">x',
        f'<form action="{trap}/form"><button autofocus formaction="{trap}/f2">go</button></form>',
        f'<table background="{trap}/table"><tr><td background="{trap}/td">cell</td></tr></table>',
        f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={code}&gt;'>",
        f'<svg xmlns="http://www.w3.org/2000/svg"><script>{code}</script><image href="{trap}/image"/><use href="{trap}/use#x"/></svg>',
        "\u202egnp.exe\u2066 \u200b\ufeff\x00\x1b]0;title\x07\x1b[2Jgone",
    ]


def drawings(trap: str) -> list[str]:
    code = f"globalThis.pwned=1;fetch('{trap}/svg');alert(1)"
    svg = (
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="50" height="50"'
    )
    return [
        f'<svg {svg} onload="{code}"><script>{code}</script><rect width="9" height="9"/></svg>',
        f'<svg {svg}><image xlink:href="{trap}/image" width="9" height="9"/><use xlink:href="{trap}/use#x"/></svg>',
        f'<svg {svg}><foreignObject width="50" height="50"><iframe xmlns="http://www.w3.org/1999/xhtml" src="{trap}/f"/></foreignObject></svg>',
        f'<svg {svg}><style>@import url({trap}/css); rect {{ fill: url({trap}/fill#x) }}</style><rect width="9" height="9"/></svg>',
        f'<?xml-stylesheet href="{trap}/xsl" type="text/xsl"?><!DOCTYPE svg [<!ENTITY x SYSTEM "{trap}/xxe">]><svg {svg}><text>&x;</text></svg>',
        f'<svg {svg}><a href="javascript:{code}"><rect width="50" height="50"/></a><animate attributeName="href" values="javascript:{code}"/></svg>',
        f'"><img src=x onerror="{code}"><svg {svg} width="1e9" height="99999999999"></svg>',
    ]


GUEST = """
import sys
class Shown:
    def __init__(self, forms): self.forms = forms
    def _repr_mimebundle_(self, **_): return self.forms
class Named(Exception): pass
for text in PAYLOADS:
    print(text); print(text, file=sys.stderr)
    emit_log(text); emit_intermediate(text, {text: [text]}); emit_intermediate('records', [{text: text, 'n': 1}])
    for kind in ('text/html', 'text/markdown', 'text/latex', 'application/javascript', 'text/plain'):
        display(Shown({kind: text, 'text/plain': text}))
    try: open(text.replace('/', ' ')[:90] + '.txt', 'w').write(text)
    except (OSError, ValueError): pass
for text in DRAWINGS: display(Shown({'image/svg+xml': text, 'text/html': text, 'text/plain': text}))
display(Shown({'image/png': 'iVBORw0KGgo="><script>alert(1)</script>', 'application/json': {'__proto__': {'x': 1}}}))
Named.__name__ = Named.__qualname__ = PAYLOADS[0]
raise Named(PAYLOADS[0])
"""

MARKS = """JSON.stringify({
    pwned: globalThis.pwned ?? null,
    title: document.title,
    listeners: [...document.querySelectorAll('*')].flatMap((it) => [...it.attributes]).filter((it) => it.name.startsWith('on')).length,
    scripts: document.querySelectorAll('script:not([src^="console/"]), style, link:not([href^="console/"]), base, object, embed, form[action], video, audio').length,
    links: [...document.querySelectorAll('[href], [src]')].filter((it) => /^\\s*(javascript|https?):/i.test(it.getAttribute('href') ?? it.getAttribute('src'))).length,
    frames: [...document.querySelectorAll('iframe')].filter((it) => it.getAttribute('sandbox') !== '' || it.hasAttribute('src')).length,
    pictures: [...document.images].filter((it) => !/^(data:image\\/(png|jpeg);base64,|http:\\/\\/127.0.0.1:\\d+\\/console\\/icon.svg$)/.test(it.src)).length,
})"""


HARMLESS = {
    "pwned": None,
    "title": "Belljar",
    "listeners": 0,
    "scripts": 0,
    "links": 0,
    "frames": 0,
    "pictures": 0,
}


def unharmed(page: Page, world: World, home: str | None = None):
    """Looks at every form of everything, and then at what happened."""
    page.js("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    most = page.js("Math.max(1, ...[...document.querySelectorAll('.forms')].map((it) => it.children.length))")
    for number in range(most):
        page.js(f"document.querySelectorAll('.forms').forEach((it) => it.children[{number}]?.click())")
        # Frames load after they are made, and what they would ask for after that.
        time.sleep(1.0)
        marks = json.loads(page.js(MARKS))
        check(marks == HARMLESS, f"the page is as it was: {marks}")
    check(page.dialogs == [], f"nothing speaks: {page.dialogs}")
    check(leaks(page, world, home) == [], f"nothing leaves: {leaks(page, world, home)[:5]}")


def a_guest_runs_nothing_in_the_page(world: World):
    page = world.page()
    page.js("document.querySelector('#collect').value = '*.txt'")
    trap = world.trap.url
    script = f"PAYLOADS = {payloads(trap)!r}\nDRAWINGS = {drawings(trap)!r}\n{GUEST}"
    run(page, script)
    check(ended(page) == "exception", "the script came to its end")
    count = page.js("document.querySelectorAll('.event').length")
    check(count > 150, f"all of it is shown: {count}")
    check(page.js("document.querySelectorAll('iframe').length") > 5, "frames were made")
    text = page.text(".run")
    check(
        "<script>globalThis.pwned=1" in text and "\\u{202e}gnp.exe" in text and "\u202e" not in text,
        "it is shown as text",
    )
    unharmed(page, world)
    page.picture(world.pictures / "attack.png")
    # The same once more, out of the history.
    name = page.js("document.querySelector('.run h3').innerText")
    page.js(f"location.hash = {json.dumps(name)}")
    page.reload()
    page.until("document.querySelector('.run .end')?.checkVisibility()", "the run is read again")
    unharmed(page, world)
    odd = [it for it in page.complaints if not expected(it) and "Content Security Policy" not in it]
    check(odd == [], f"the page does not stumble: {odd[:3]}")


def a_server_that_lies_runs_nothing_in_the_page(world: World):
    bad = payloads(world.trap.url)
    liar = Liar(world.server.url, bad)
    try:
        page = world.browser.page()
        page.go(liar.url + "/")
        page.until(shown("#desk"), "the page opens")
        page.until("document.querySelectorAll('#runs li').length > 3", "runs are listed")
        page.until("document.querySelectorAll('#sandboxes li').length > 3", "sandboxes are listed")
        page.until(shown("#workspaces"), "workspaces are listed")
        page.until(
            "document.querySelector('#workspace-list').innerText.includes('onerror')", "and their files"
        )
        page.click("#runs button")
        page.until("document.querySelector('.run .end')?.checkVisibility()", "its events are shown")
        check(len(page.text(".event.tool")) > 500, "tool calls are shown")
        unharmed(page, world, liar.url)
        for index in range(len(bad)):
            page.js(
                f"document.querySelector('#place').selectedIndex = {index}; document.querySelector('#place').dispatchEvent(new Event('change'))"
            )
        unharmed(page, world, liar.url)
        page.size(360, 740, is_phone=True)
        time.sleep(0.3)
        wide = page.js("document.documentElement.scrollWidth")
        check(wide <= 360, f"no name makes the page wider than a phone: {wide}")
        page.picture(world.pictures / "liar.png", is_whole=True)
    finally:
        liar.close()


class Liar:
    """A server with the real page, and an attack in every field of every answer."""

    def __init__(self, real: str, bad: list[str]):
        answers = lies(bad)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.split("?")[0]
                if path == "/" or path.startswith("/console/"):
                    with urllib.request.urlopen(real + path) as answer:
                        headers, body = dict(answer.headers), answer.read()
                    self.answer(200, body, headers)
                elif path.endswith("/events"):
                    lines = "".join(json.dumps(event) + "\n" for event in answers["events"])
                    self.answer(200, lines.encode(), {"content-type": "application/x-ndjson"})
                elif path.endswith("/files"):
                    self.answer(200, json.dumps({"files": answers["files"]}).encode())
                else:
                    told = answers.get(path.removeprefix("/v1/"), answers["run"])
                    self.answer(200, json.dumps(told).encode())

            def answer(self, status, body, headers=None):
                self.send_response(status)
                for name, value in (headers or {"content-type": "application/json"}).items():
                    if name.lower() not in ("transfer-encoding", "content-length", "date", "connection"):
                        self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()


def lies(bad: list[str]) -> dict:
    """Answers as the server gives them, with an attack wherever there is text."""
    usage = {"wall_ms": 1.0, "cpu_ms": None, "peak_memory_bytes": 1, "oom_kills": 1, "forks_refused": 1}
    runs = [
        {"id": text, "status": "ended", "verdict": text, "error": text, "sandbox": text, "session": text, "owner": text,
         "started_at": "2026-01-01T00:00:00Z", "ended_at": text, "usage": usage, "events": 1}
        for text in bad
    ]  # fmt: skip
    limits = {"execution_timeout_sec": bad[0], "memory_mb": 1, "cpu_quota": bad[1], "max_output_bytes": 1}
    sandboxes = [
        {"name": text, "dependencies": [text], "mode": text, "limits": limits, "allowed_hosts": [text, {"host": text}],
         "tools": [text, {"name": text}], "python": text, "cells": {"idle": 1, "in_use": 1, "capacity": 2}}
        for text in bad
    ]  # fmt: skip
    events = []
    for number, text in enumerate(bad):
        events += [
            {"type": "tool_call", "call_id": number, "tool": text, "args": {text: text}},
            {
                "type": "tool_progress",
                "call_id": number,
                "tool": text,
                "progress": text,
                "total": text,
                "message": text,
            },
            {"type": "tool_call", "call_id": text, "tool": text, "args": text},
            {
                "type": "tool_result",
                "call_id": number,
                "tool": text,
                "success": False,
                "duration_ms": 1,
                "bytes_in": 1,
                "bytes_out": 1,
                "message": text,
            },
            {"type": "denied", "target": text, "rule": text},
            {"type": "leftover", "stream": text, "text": text},
            {"type": "warning", "message": text},
            {"type": "error", "message": text, "traceback": text},
            {"type": text},
        ]
    network = [
        {
            "host": text,
            "port": text,
            "verdict": text,
            "rule": text,
            "count": 1,
            "bytes_sent": 1,
            "bytes_received": 1,
        }
        for text in bad
    ]
    files = [{"name": text, "path": text, "size": 1, "is_directory": False} for text in bad]
    end = {"type": "ended", "verdict": bad[0], "exit_code": bad[1], "signal": bad[2], "error": "e" + bad[0], "traceback": bad[3],
           "warnings": ["w" + text for text in bad], "network": network, "files": files, "usage": usage, "output_bytes": 1}  # fmt: skip
    events = [{"seq": number, "execution_id": "x", **event} for number, event in enumerate([*events, end])]
    return {
        "status": {"version": bad[0], "engine": bad[1], "is_draining": False, "runs": {"running": 1, "waiting": 0, "most": 2},
                   "sessions": {"open": 1, "most": 2}, "protections": [{"name": text, "is_active": False} for text in bad]},
        "sandboxes": {"sandboxes": sandboxes},
        "sessions": {"sessions": [{"id": text, "sandbox": text} for text in bad]},
        "runs": {"runs": runs, "next": bad[0]},
        "workspaces": {"workspaces": [{"id": text} for text in bad]},
        "files": files,
        "events": events,
        "run": {**runs[0], "script": bad[0]},
    }  # fmt: skip


def the_policy_itself_stops_what_the_page_would_let_through(world: World):
    """If a mistake in the page wrote markup, the browser would refuse it."""
    page = world.page()
    for code in (
        "document.body.innerHTML = '<b>x</b>'",
        "document.querySelector('#script').insertAdjacentHTML('afterend', '<b>x</b>')",
        "Object.assign(document.createElement('iframe'), { srcdoc: 'x' })",
        "document.write('x')",
        "trustedTypes.createPolicy('other', { createHTML: (it) => it })",
        "trustedTypes.createPolicy('belljar-frame', { createHTML: (it) => it })",
    ):
        refused = page.js(
            f"(() => {{ try {{ {code}; return false; }} catch (error) {{ return error instanceof TypeError; }} }})()"
        )
        check(refused, f"refused: {code}")
    trap = world.trap.url
    page.js(f"""(() => {{
        const add = (tag, options) => {{ try {{ document.body.append(Object.assign(document.createElement(tag), options)); }} catch {{ }} }};
        add('img', {{ src: '{trap}/img' }}); add('iframe', {{ src: '{trap}/frame' }}); add('link', {{ rel: 'stylesheet', href: '{trap}/css' }});
        add('video', {{ src: '{trap}/video' }}); add('object', {{ data: '{trap}/object' }}); add('base', {{ href: '{trap}/' }});
        document.body.insertAdjacentElement('beforeend', document.createElement('div')).setAttribute('style', 'background: url({trap}/style)');
        const form = document.createElement('form'); form.action = '{trap}/form'; document.body.append(form); form.submit();
        fetch('{trap}/fetch').catch(() => {{}}); navigator.sendBeacon('{trap}/beacon'); new WebSocket('{trap.replace("http", "ws")}/socket');
    }})()""")
    time.sleep(0.7)
    # To a frame and a form Chromium connects before it asks the policy. It sends nothing.
    sent = [it for it in world.trap.caught if it != CONNECTED]
    world.trap.caught.clear()
    check(sent == [], f"nothing is sent: {sent}")
    check(page.js("location.href").startswith(world.server.url), "the page stays where it is")


def a_page_of_another_site_cannot_frame_it(world: World):
    page = world.browser.page()
    page.go("about:blank")
    page.js(
        f"document.body.append(Object.assign(document.createElement('iframe'), {{ src: '{world.server.url}/' }}))"
    )
    deadline = time.monotonic() + 5
    while True:
        frames = page.ask("Page.getFrameTree")["frameTree"].get("childFrames", [])
        if any(it["frame"].get("unreachableUrl") == f"{world.server.url}/" for it in frames):
            return
        check(time.monotonic() < deadline, f"the browser refuses to frame it: {frames}")
        time.sleep(0.05)


def a_frame_that_is_clicked_goes_nowhere(world: World):
    page = world.page()
    trap = world.trap.url
    markup = f"<p><a href='{trap}/link' target=_top ping='{trap}/ping'>a link to press</a></p><button>press</button>"
    run(page, f"class Page:\n    def _repr_html_(self): return {markup!r}\ndisplay(Page())")
    page.until("document.querySelector('iframe')", "the page is framed")
    page.js("document.querySelector('iframe').scrollIntoView({block: 'center'})")
    time.sleep(0.3)
    box = page.js(
        "(() => { const it = document.querySelector('iframe').getBoundingClientRect(); return [it.x, it.y, it.width, it.height]; })()"
    )
    for down in range(10, int(box[3]), 8):
        for kind in ("mousePressed", "mouseReleased"):
            page.ask(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0] + 30,
                y=box[1] + down,
                button="left",
                clickCount=1,
            )
    time.sleep(0.3)
    check(page.js("location.href").startswith(world.server.url + "/"), "the page stays where it is")
    check(leaks(page, world) == [], f"nothing leaves: {leaks(page, world)}")


ATTACKS = [
    a_guest_runs_nothing_in_the_page,
    a_server_that_lies_runs_nothing_in_the_page,
    the_policy_itself_stops_what_the_page_would_let_through,
    a_page_of_another_site_cannot_frame_it,
    a_frame_that_is_clicked_goes_nowhere,
]
