"""Drives Chromium through its debugging pipe, with nothing but the standard library.

A page here is a tab: it is told to go somewhere, to type and to press keys as a person would, and
is asked what it shows. Whatever it asked the network for, complained about or popped up is kept.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import queue
import shutil
import subprocess
import threading
import time
from pathlib import Path

WAIT = 20.0
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, " ": 32}
CTRL, SHIFT = 2, 8


class Failed(Exception):
    """The page did not do what was claimed."""


class Browser:
    """A Chromium without a window."""

    def __init__(self, program: str, profile: Path):
        ours, theirs = os.pipe(), os.pipe()
        options = [
            "--headless=new",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-proxy-server",
            "--force-color-profile=srgb",
            "about:blank",
        ]
        if os.geteuid() == 0:
            options.insert(0, "--no-sandbox")
        # Chromium reads commands from descriptor 3, and answers on 4.
        command = ["sh", "-c", f'exec "$0" "$@" 3<&{ours[0]} 4>&{theirs[1]}', program, *options]
        self.process = subprocess.Popen(
            command, pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._out, self._in = os.fdopen(ours[1], "wb", 0), os.fdopen(theirs[0], "rb")
        self._numbers = itertools.count(1)
        self._answers: dict[int, queue.Queue] = {}
        self._listeners: dict[str, Page] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        rest = b""
        while chunk := self._in.read1(1 << 20):
            *messages, rest = (rest + chunk).split(b"\0")
            for message in messages:
                told = json.loads(message)
                if "id" in told:
                    self._answers.pop(told["id"]).put(told)
                elif page := self._listeners.get(told.get("sessionId", "")):
                    page.hear(told)

    def ask(self, method: str, session: str | None = None, **params):
        number = next(self._numbers)
        answer = self._answers[number] = queue.Queue()
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._out.write(json.dumps(message).encode() + b"\0")
        told = answer.get(timeout=WAIT)
        if "error" in told:
            raise Failed(f"{method}: {told['error']['message']}")
        return told["result"]

    def tell(self, method: str, session: str, **params):
        """Says something without waiting for the answer."""
        number = next(self._numbers)
        self._answers[number] = queue.Queue()
        message = {"id": number, "method": method, "params": params, "sessionId": session}
        self._out.write(json.dumps(message).encode() + b"\0")

    def page(self, width=1280, height=860) -> Page:
        # A context of its own: no storage in common with other pages.
        context = self.ask("Target.createBrowserContext")["browserContextId"]
        target = self.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, context)
        self._listeners[session] = page
        page.begin()
        page.size(width, height)
        return page

    def listen(self, session: str, page: Page):
        self._listeners[session] = page

    def close(self):
        try:
            self.ask("Browser.close")
            self.process.wait(WAIT)
        except (Failed, OSError, queue.Empty, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


class Page:
    """One tab, and the frames in it."""

    def __init__(self, browser: Browser, session: str, context: str):
        self.browser, self.session, self.context = browser, session, context
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.frames = 0

    def begin(self):
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        # Frames may have processes of their own. They are listened to as well.
        self.ask("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    def ask(self, method: str, **params):
        return self.browser.ask(method, self.session, **params)

    def hear(self, told: dict):
        method, params, session = told["method"], told["params"], told["sessionId"]
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(params["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(it.get("value")) for it in params["args"]))
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            self.browser.tell("Page.handleJavaScriptDialog", session, accept=True)
        elif method == "Target.attachedToTarget":
            self.frames += 1
            self.browser.listen(params["sessionId"], self)
            for domain in ("Network", "Runtime", "Log"):
                self.browser.tell(f"{domain}.enable", params["sessionId"])

    def size(self, width: int, height: int, is_phone=False):
        scale = 2 if is_phone else 1
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=is_phone,
        )

    def scheme(self, name: str):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def go(self, url: str):
        self.ask("Page.navigate", url=url)

    def reload(self):
        """Loads the page anew, and waits until the old one is gone."""
        self.js("globalThis.isOld = true")
        self.ask("Page.reload")
        self.until("!globalThis.isOld && document.readyState === 'complete'", "the page is loaded again")

    def js(self, code: str):
        """The value of an expression, in the page."""
        told = self.ask("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            raise Failed(f"{code}: {details.get('exception', {}).get('description') or details['text']}")
        return told["result"].get("value")

    def until(self, code: str, claim: str, wait=WAIT):
        """Waits until an expression is true, and gives its value."""
        end = time.monotonic() + wait
        while True:
            try:
                value = self.js(f"((it) => (it instanceof Node ? true : it))({code})")
            except Failed as error:
                # The page was left while it was asked.
                if "context" not in str(error):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise Failed(f"not within {wait:g} s: {claim}")
            time.sleep(0.03)

    def text(self, selector: str) -> str:
        return self.js(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((it) => it.innerText).join('\\n')"
        )

    def click(self, selector: str):
        code = f"""(() => {{ const it = document.querySelector({json.dumps(selector)}); it.scrollIntoView({{block: 'center'}});
            const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"""
        x, y = self.js(code)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name: str, modifiers=0):
        code = KEYS.get(name, ord(name.upper()[0]))
        common = {
            "key": name,
            "code": name if name != " " else "Space",
            "windowsVirtualKeyCode": code,
            "modifiers": modifiers,
        }
        text = {"Enter": "\r", " ": " "}.get(name, name if len(name) == 1 else None)
        if text and not modifiers & CTRL:
            common["text"] = text
        self.ask("Input.dispatchKeyEvent", type="keyDown" if "text" in common else "rawKeyDown", **common)
        common.pop("text", None)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str):
        """Types into what has the focus."""
        self.ask("Input.insertText", text=text)

    def focused(self) -> str:
        return self.js("document.activeElement.id || document.activeElement.tagName.toLowerCase()")

    def picture(self, path: Path, is_whole=False):
        told = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=is_whole)
        path.write_bytes(base64.b64decode(told["data"]))


def program() -> str | None:
    """Chromium, if there is one."""
    wanted = os.environ.get("CHROMIUM")
    return wanted or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
