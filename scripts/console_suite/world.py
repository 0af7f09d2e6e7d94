"""What the claims are made in: a server, a browser, and a trap for whatever leaves the page."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from .browser import CTRL, Browser, Failed, Page


class Server:
    """`belljar serve` on a port of its own."""

    def __init__(self, program: str, state: Path, *options: str):
        command = [
            program,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--state",
            str(state),
            "--warm",
            "2",
            *options,
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.url, self.token, said = "", "", []
        while not self.url:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the server does not start:\n" + "".join(said))
            said.append(line)
            if found := re.search(r"serves at (\S+)", line):
                self.url = found[1]
        if "--no-token" not in options:
            self.token = (state / "token").read_text().strip()
        # It may say more, and must not wait for a reader.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


# A connection on which nothing came.
CONNECTED = b"(a connection)"


class Trap:
    """A port that nobody has a reason to connect to."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.caught: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while True:
            connection, _ = self.socket.accept()
            connection.settimeout(0.3)
            try:
                self.caught.append(connection.recv(4096))
            except OSError:
                self.caught.append(CONNECTED)
            connection.close()


class Line:
    """A way to the server that can be cut."""

    def __init__(self, url: str):
        self.target = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.is_cut, self.open = False, []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            ours, _ = self.socket.accept()
            if self.is_cut:
                ours.close()
                continue
            theirs = socket.create_connection(self.target)
            self.open += [ours, theirs]
            for ends in ((ours, theirs), (theirs, ours)):
                threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self):
        self.is_cut = True
        for end in self.open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.open.clear()

    def mend(self):
        self.is_cut = False


class World:
    """A server with a sandbox or two, a browser, and somewhere to put pictures."""

    def __init__(self, program: str, chromium: str, pictures: Path):
        self.program, self.pictures = program, pictures
        self.home = tempfile.TemporaryDirectory(prefix="belljar-console-")
        self.root = Path(self.home.name)
        (self.root / "sandboxes").mkdir()
        (self.root / "sandboxes" / "other.toml").write_text('name = "other"\n')
        options = ["--sandboxes", str(self.root / "sandboxes"), "--allow-host", "api.example.com"]
        self.server = Server(program, self.root / "state", *options)
        self.trap = Trap()
        self.browser = Browser(chromium, self.root / "profile")
        pictures.mkdir(parents=True, exist_ok=True)

    def close(self):
        self.browser.close()
        self.server.stop()
        self.home.cleanup()

    def page(self, width=1280, height=900, url: str | None = None) -> Page:
        """A tab that was let in."""
        page = self.browser.page(width, height)
        page.go((url or self.server.url) + "/")
        page.until(shown("#door"), "the page asks for a token")
        page.write(self.server.token)
        page.key("Enter")
        page.until("document.querySelector('#place').options.length > 0", "the token opens the page")
        return page


def shown(selector: str) -> str:
    return f"document.querySelector('{selector}')?.checkVisibility()"


def check(is_so, claim: str):
    if not is_so:
        raise Failed(claim)


def type_script(page: Page, script: str):
    page.js("document.querySelector('#script').focus(); document.querySelector('#script').select()")
    page.write(script.strip())


def run(page: Page, script: str, is_awaited=True):
    """Runs a script as a person does, and waits for its end."""
    type_script(page, script)
    # A step is put above those before it, so it is not enough that a run is there.
    before = page.js(
        "document.querySelectorAll('.run').length + ' ' + (document.querySelector('.run h3')?.innerText ?? '')"
    )
    page.key("Enter", CTRL)
    begun = "document.querySelectorAll('.run').length + ' ' + (document.querySelector('.run h3')?.innerText ?? '')"
    page.until(f"{begun} !== {before!r}", "the run is shown")
    if is_awaited:
        ended(page)


def ended(page: Page) -> str:
    """Waits for the end of the newest run, and says its verdict."""
    page.until(
        "document.querySelector('.run .end')?.checkVisibility() && !document.querySelector('#run').disabled",
        "the run ends",
    )
    return page.js("document.querySelector('.run .head .verdict').innerText")


def first(page: Page, selector: str) -> str:
    """The text of a part of the newest run."""
    return page.js(
        f"[...document.querySelector('.run').querySelectorAll('{selector}')].map((it) => it.innerText).join('\\n')"
    )


def leaks(page: Page, world: World, home: str | None = None) -> list[str]:
    """Whatever the page asked of anybody but its server."""
    ours = (home or world.server.url) + "/"
    urls = [url for url in page.requests if not url.startswith((ours, "data:", "blob:", "about:"))]
    return urls + [str(it) for it in world.trap.caught]


def expected(complaint: str) -> bool:
    """What a browser says of an answer that the page handles."""
    return "the server responded with a status of" in complaint
