"""What the console does, each claim on a server and a browser that are real."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request

from .browser import SHIFT, WAIT
from .scripts import COUNT, DENIED, ENDLESS, FLOOD, SHOW
from .world import Line, Server, World, check, ended, expected, first, leaks, run, shown


def a_token_is_asked_for_and_stays_in_the_tab(world: World):
    page = world.browser.page()
    page.go(world.server.url + "/")
    page.until(shown("#door"), "the page asks for a token")
    check(page.focused() == "token", "the cursor is where the token goes")
    page.picture(world.pictures / "door.png")
    page.write("bj_wrong_token")
    page.key("Enter")
    page.until("document.querySelector('#token-error').textContent", "a wrong token is refused")
    check(page.js("sessionStorage.length") == 0, "a wrong token is forgotten")
    page.write(world.server.token)
    page.key("Enter")
    page.until(shown("#desk"), "the right token opens the page")
    where = page.js(
        "JSON.stringify([location.href, document.cookie, {...localStorage}, document.documentElement.outerHTML])"
    )
    check(world.server.token not in where, "the token is neither in the address nor in the page")
    check(not any(world.server.token in url for url in page.requests), "the token is in no address")
    page.reload()
    page.until(shown("#desk"), "the tab remembers it")
    page.until(shown("#forget"), "it can be forgotten")
    page.click("#forget")
    page.until(shown("#door"), "the page asks again")
    check(page.js("sessionStorage.getItem('belljar-token')") is None, "it is forgotten")


def no_token_is_asked_for_where_none_is_needed(world: World):
    server = Server(world.program, world.root / "open", "--no-token")
    try:
        page = world.browser.page()
        page.go(server.url + "/")
        page.until(shown("#desk"), "the page opens")
        check(not page.js(shown("#door")) and not page.js(shown("#forget")), "nothing is said of tokens")
        server.stop()
        page.until(shown("#notice"), "the page says when the server is gone")
    finally:
        server.process.kill()


def a_run_is_shown_while_it_runs_and_its_verdict_is_announced(world: World):
    page = world.page()
    check(page.focused() == "script", "the cursor is where the script goes")
    run(page, COUNT, is_awaited=False)
    page.until(
        "document.querySelector('.run pre:not(.code pre)')?.innerText.includes('line 3')",
        "events come as they are said",
    )
    check("running" in page.text(".run .head .verdict"), "it is running meanwhile")
    page.until("document.querySelector('#runs .verdict.running')", "the list has it")
    page.until("document.querySelector('#gauges .value').innerText === '1'", "the gauge has it")
    page.picture(world.pictures / "running.png")
    check(ended(page) == "ok", "it ends well")
    page.until(
        "document.querySelector('#announcement').textContent.includes('ok')", "the verdict is announced"
    )
    facts = first(page, ".end .facts")
    check(all(word in facts for word in ("wall", "processor", "MiB memory")), f"usage is shown: {facts}")
    page.until("document.querySelector('#runs li .verdict').innerText === 'ok'", "the list has its verdict")
    run(page, "raise ValueError('<b>no</b>')")
    check(first(page, ".head .verdict") == "exception", "an exception is a verdict")
    check("ValueError: <b>no</b>" in first(page, ".event.error"), "its traceback is shown as text")


def pictures_tables_and_pages_are_shown(world: World):
    page = world.page()
    run(page, SHOW)
    size = page.until(
        "[...document.querySelectorAll('.event.display img')].map((it) => it.naturalWidth)",
        "a picture is drawn",
    )
    check(size == [420], f"the picture is drawn as it is: {size}")
    cells = page.js(
        "[...document.querySelectorAll('.event.display table tr')].map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    check(
        cells == [["", "sales", "growth"], ["North", "1204", "3.2"], ["South", "981", "-1.4"]],
        f"a table is a table: {cells}",
    )
    frames = page.js("[...document.querySelectorAll('iframe')].map((it) => it.getAttribute('sandbox'))")
    check(frames == ["", ""], f"a drawing and a page have frames that may do nothing: {frames}")
    check("12345678901234567890" in first(page, ".event.intermediate"), "a large number keeps its digits")
    page.js("document.querySelector('.events').style.maxHeight = 'none'")
    page.picture(world.pictures / "chart.png", is_whole=True)
    # What is in the frame cannot be asked, so its colour is looked at.
    page.js("document.querySelector('iframe').scrollIntoView({block: 'center'})")
    box = page.js(
        "(() => { const it = document.querySelector('iframe').getBoundingClientRect(); return [it.x, it.y, it.width, it.height]; })()"
    )
    check(box[2:] == [442, 206], f"the drawing has its own size: {box}")
    check(green(page, box), "the drawing is drawn")
    # A frame that is not in view is not drawn, so it is missing in the picture of the whole page.
    last = "[...document.querySelectorAll('iframe')].at(-1)"
    page.js(f"{last}.scrollIntoView({{block: 'center'}})")
    box = page.js(
        f"(() => {{ const it = {last}.getBoundingClientRect(); return [it.x, it.y, it.width, it.height]; }})()"
    )
    deadline = time.monotonic() + WAIT
    while colours(page, box) < 8:
        check(time.monotonic() < deadline, "the words of a page are drawn")
    page.picture(world.pictures / "page.png")


def colours(page, box) -> int:
    """How many colours are in a part of the page. Words have many, by their edges."""
    x, y, width, height = box
    data = page.ask(
        "Page.captureScreenshot",
        format="png",
        clip={"x": x, "y": y + page.js("scrollY"), "width": width, "height": height, "scale": 1},
    )
    return page.js(f"""new Promise((done) => {{ const image = new Image(); image.onload = () => {{
        const canvas = Object.assign(document.createElement('canvas'), {{ width: image.width, height: image.height }});
        const pen = canvas.getContext('2d'); pen.drawImage(image, 0, 0);
        const points = new Uint32Array(pen.getImageData(0, 0, image.width, image.height).data.buffer);
        done(new Set(points).size); }}; image.src = 'data:image/png;base64,{data["data"]}'; }})""")


def green(page, box) -> bool:
    """Whether the bars are there, by the middle of the last one."""
    x, y = box[0] + 1 + 20 + 11 * 34 + 12, box[1] + 1 + 170
    data = page.ask(
        "Page.captureScreenshot",
        format="png",
        clip={"x": x, "y": y + page.js("scrollY"), "width": 1, "height": 1, "scale": 1},
    )
    return (
        page.js(f"""new Promise((done) => {{ const image = new Image(); image.onload = () => {{
        const canvas = document.createElement('canvas'); const pen = canvas.getContext('2d'); pen.drawImage(image, 0, 0);
        done([...pen.getImageData(0, 0, 1, 1).data].join()); }}; image.src = 'data:image/png;base64,{data["data"]}'; }})""")
        == "20,112,106,255"
    )


def a_denied_host_is_said(world: World):
    page = world.page()
    run(page, DENIED)
    check("telemetry.example:443" in first(page, ".event.denied"), "the host is named when it is refused")
    check("denied" in first(page, ".end table"), "and in the end")
    page.js("document.querySelector('.end').scrollIntoView({block: 'end'})")
    page.picture(world.pictures / "denied.png")


def a_run_can_be_stopped(world: World):
    page = world.page()
    run(page, ENDLESS, is_awaited=False)
    page.until("document.querySelector('.run pre:not(.code pre)')?.innerText.includes('on')", "it runs")
    page.click("#stop")
    check(ended(page) == "cancelled", "it is cancelled")


def a_session_keeps_variables_and_files(world: World):
    page = world.page()
    page.click("#session-open")
    page.until("document.querySelector('#place').value.startsWith('session:')", "a session is open")
    run(page, "x = 41\nopen('made.txt', 'w').write('by a step')")
    run(page, "x + 1")
    check(first(page, ".events").strip() == "42", "a step knows what was before")
    check(
        page.js("document.querySelectorAll('.run').length") == 2,
        "steps are below each other, the last on top",
    )
    run(page, ENDLESS, is_awaited=False)
    page.until("document.querySelector('.run pre:not(.code pre)')?.innerText.includes('on')", "it runs")
    check(page.text("#stop") == "Interrupt", "a step is interrupted, not killed")
    page.click("#stop")
    ended(page)
    run(page, "x + 2")
    check(first(page, ".events").strip() == "43", "variables stay after that")
    page.until("document.querySelector('#files-list').innerText.includes('made.txt')", "its files are listed")
    upload = world.root / "given \u202e.txt"
    upload.write_text("from outside")
    node = page.ask("Runtime.evaluate", expression="document.querySelector('#files-choose')")["result"][
        "objectId"
    ]
    page.ask("DOM.setFileInputFiles", files=[str(upload)], objectId=node)
    page.until(
        "document.querySelector('#files-list').innerText.includes('given \\\\u{202e}.txt')",
        "a file can be given",
    )
    run(page, "print(open('given \\u202e.txt').read())")
    check(first(page, ".events").strip() == "from outside", "and is what was given")
    page.picture(world.pictures / "session.png")
    saved = world.root / "saved"
    world.browser.ask(
        "Browser.setDownloadBehavior",
        behavior="allow",
        downloadPath=str(saved),
        browserContextId=page.context,
    )
    page.click("#files-list button[aria-label='Save made.txt']")
    deadline = time.monotonic() + 10
    while not (saved / "made.txt").exists():
        check(time.monotonic() < deadline, "a file can be saved")
        time.sleep(0.05)
    check((saved / "made.txt").read_text() == "by a step", "and is what it was")
    page.click("#session-close")
    page.until("!document.querySelector('#place').value.startsWith('session:')", "the session is closed")
    check(not page.js(shown("#files")), "and its files are gone")


def a_broken_connection_loses_nothing(world: World):
    line = Line(world.server.url)
    page = world.page(url=line.url)
    run(page, COUNT, is_awaited=False)
    page.until("document.querySelector('.run pre:not(.code pre)')?.innerText.includes('line 5')", "it runs")
    line.cut()
    page.until(
        "document.querySelector('.run .head .verdict').innerText === 'connecting'",
        "the page says that it lost the server",
    )
    line.mend()
    check(ended(page) == "ok", "it comes back")
    lines = first(page, ".event.stdout pre").split()[1::2]
    check(lines == [str(number) for number in range(60)], f"each line is there, once: {lines}")
    check(any("from=" in url and "from=0" not in url for url in page.requests), "it asked for the rest alone")


def a_flood_does_not_drown_the_page(world: World):
    page = world.page()
    run(page, FLOOD, is_awaited=False)
    ended(page)
    check("line 24999" in first(page, ".event.stdout"), "the last line is there")
    check(page.js("document.querySelectorAll('.event').length") < 1600, "the page stays small")


def everything_can_be_done_with_the_keyboard(world: World):
    page = world.page()
    run(page, "print('one')")
    run(page, "print('two')")
    page.until("document.querySelectorAll('#runs li').length > 1", "there are runs")
    page.js("document.activeElement.blur(); scrollTo(0, 0)")
    seen, invisible = [], []
    look = """(() => { const it = document.activeElement, style = getComputedStyle(it), box = it.getBoundingClientRect();
        const isSeen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 1 && box.height > 1;
        return [it.id || it.className || it.tagName, isSeen]; })()"""
    for _ in range(60):
        page.key("Tab")
        name, is_seen = page.js(look)
        seen.append(name)
        if not is_seen and name not in ("BODY", "files-choose"):
            invisible.append(name)
    check(not invisible, f"what has the focus can be seen: {invisible}")
    order = [
        "skip",
        "forget",
        "script",
        "place",
        "run",
        "session-open",
        "events",
        "runs-verdict",
        "runs-sandbox",
    ]
    # Where it begins is where the focus was.
    seen = seen[seen.index("skip") :]
    places = [seen.index(name) for name in order if name in seen]
    check(len(places) == len(order) and places == sorted(places), f"the order is that of the page: {seen}")
    page.js("document.querySelector('#runs button').focus()")
    page.key("ArrowDown")
    second = page.js("document.activeElement.closest('li').dataset.key")
    page.key("Enter")
    page.until(f"document.querySelector('.run h3').innerText === {second!r}", "a run is chosen with Enter")
    check(page.focused() == "output", "and the focus goes to it")
    page.js("document.querySelector('#script').focus()")
    page.key("Tab", SHIFT)
    check(page.focused() == "forget", "the box for scripts is no trap")


def everything_has_a_name(world: World):
    page = world.page()
    run(page, SHOW)
    page.click("#session-open")
    page.until(shown("#files"), "a session is open")
    page.ask("Accessibility.enable")
    tree = page.ask("Accessibility.getFullAXTree")["nodes"]
    roles = (
        "button",
        "textbox",
        "combobox",
        "spinbutton",
        "image",
        "Iframe",
        "log",
        "region",
        "DisclosureTriangle",
    )
    value = lambda node, field: node.get(field, {}).get("value", "")  # noqa: E731
    nameless = [
        value(node, "role")
        for node in tree
        if value(node, "role") in roles and not value(node, "name") and not node["ignored"]
    ]
    # The mark beside the name is an ornament.
    check([role for role in nameless if role != "image"] == [], f"each has a name: {nameless}")
    page.click("#session-close")


CONTRAST = """(() => {
    const channel = (value) => { value /= 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
    const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
    const light = ({ r, g, b }) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const ground = (it) => { for (; it; it = it.parentElement) { const colour = parse(getComputedStyle(it).backgroundColor); if (colour.a > 0.99) return colour; } return { r: 255, g: 255, b: 255 }; };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), low = new Set();
    while (walker.nextNode()) {
        const it = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !it.checkVisibility() || it.closest(':disabled, .unseen, option, noscript')) continue;
        const [one, other] = [light(parse(getComputedStyle(it).color)), light(ground(it))].sort((x, y) => y - x);
        const ratio = (one + 0.05) / (other + 0.05);
        if (ratio < 4.5) low.add(`${walker.currentNode.data.trim().slice(0, 20)}: ${ratio.toFixed(2)}`);
    }
    return [...low];
})()"""


def it_can_be_read_in_light_and_dark(world: World):
    page = world.page()
    run(
        page,
        SHOW
        + DENIED
        + "\nimport sys; print('careful', file=sys.stderr)\nprint('\\x1b[33myellow \\x1b[35mpink \\x1b[36mcyan \\x1b[34mblue\\x1b[0m')\n1 / 0",
    )
    grounds = []
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        time.sleep(0.4)
        low = page.js(CONTRAST)
        check(low == [], f"text stands out in {scheme}: {low}")
        grounds.append(page.js("getComputedStyle(document.body).backgroundColor"))
        page.js("document.querySelector('.events').style.maxHeight = 'none'")
        page.picture(world.pictures / f"{scheme}.png", is_whole=True)
    check(grounds[0] != grounds[1], "the two schemes differ")


def a_phone_needs_no_sideways_scrolling(world: World):
    page = world.page()
    run(page, SHOW + DENIED + "\nprint('x' * 500)\nemit_result([{f'column {n}': n for n in range(20)}])")
    page.click("#session-open")
    page.until(shown("#files"), "a session is open")
    run(page, "open('a' * 120 + '.txt', 'w').write('x'); print('y' * 300)")
    page.click("#session-close")
    page.js("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    for width in (360, 320):
        page.size(width, 740, is_phone=True)
        time.sleep(0.3)
        wide = page.js("document.documentElement.scrollWidth")
        check(wide <= width, f"the page is {wide} wide on a screen of {width}")
        for part in ("#script", ".run", "#runs"):
            room = page.js(f"document.querySelector('{part}').getBoundingClientRect().width")
            check(width - 50 <= room <= width, f"{part} has the width of the screen: {room}")
        small = page.js(
            "[...document.querySelectorAll('button, select, input')].filter((it) => it.checkVisibility() && it.getBoundingClientRect().height < 24).map((it) => it.id || it.className || it.innerText)"
        )
        small = [name for name in small if name not in ("unseen", "files-choose")]
        check(small == [], f"what is pressed is large enough: {small}")
    page.size(360, 740, is_phone=True)
    page.picture(world.pictures / "phone.png")
    page.picture(world.pictures / "phone-whole.png", is_whole=True)


def runs_are_chosen_by_verdict_and_by_address(world: World):
    page = world.page()
    run(page, "1 / 0")
    name = first(page, "h3")
    page.js(
        "(() => { const it = document.querySelector('#runs-verdict'); it.value = 'exception'; it.dispatchEvent(new Event('change')); })()"
    )
    page.until(
        "[...document.querySelectorAll('#runs .verdict')].every((it) => it.innerText === 'exception')",
        "only those are listed",
    )
    page.click("#runs li:last-child button")
    page.until("location.hash.startsWith('#run_')", "the address names the run")
    page.js(f"location.hash = {json.dumps(name)}")
    page.reload()
    page.until(f"document.querySelector('.run h3')?.innerText === {json.dumps(name)}", "and leads to it")
    page.until("document.querySelector('.run .code pre')?.innerText === '1 / 0'", "with its script")


def workspaces_are_shown_if_the_server_has_them(world: World):
    def ask(method: str, path: str, body: bytes | None = None) -> int:
        headers = {"Authorization": f"Bearer {world.server.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(world.server.url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    has_them = ask("GET", "/v1/workspaces") == 200
    if has_them:
        made = ask("POST", "/v1/workspaces", b'{"name": "kept"}')
        put = ask("PUT", "/v1/workspaces/kept/files/in/notes.txt", b"remember")
        check(made < 300 and put < 300, f"a workspace can be made: {made}, {put}")
    page = world.page()
    if not has_them:
        run(page, "1")
        check(not page.js(shown("#workspaces")), "nothing is said of them")
        return
    page.until(
        "document.querySelector('#workspace-list').innerText.includes('in/notes.txt')", "files are listed"
    )
    check(page.js("document.querySelector('#workspace').selectedOptions[0].text") == "kept", "by name")
    page.picture(world.pictures / "workspaces.png")


def nothing_was_complained_about(world: World):
    page = world.page()
    run(page, SHOW)
    complaints = [it for it in page.complaints if not expected(it)]
    check(complaints == [], f"the browser has nothing to say: {complaints}")
    check(leaks(page, world) == [], "the page talks to its server alone")


CLAIMS = [
    a_token_is_asked_for_and_stays_in_the_tab,
    no_token_is_asked_for_where_none_is_needed,
    a_run_is_shown_while_it_runs_and_its_verdict_is_announced,
    pictures_tables_and_pages_are_shown,
    a_denied_host_is_said,
    a_run_can_be_stopped,
    a_session_keeps_variables_and_files,
    a_broken_connection_loses_nothing,
    a_flood_does_not_drown_the_page,
    everything_can_be_done_with_the_keyboard,
    everything_has_a_name,
    it_can_be_read_in_light_and_dark,
    a_phone_needs_no_sideways_scrolling,
    runs_are_chosen_by_verdict_and_by_address,
    workspaces_are_shown_if_the_server_has_them,
    nothing_was_complained_about,
]
