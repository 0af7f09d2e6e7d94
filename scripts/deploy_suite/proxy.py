"""The guide's settings for nginx, in front of a server on loopback."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from .client import PATIENCE, Client, Failed, expect, wait_until
from .image import GUIDE, Image, granted
from .tls import certificate

NAME = "jar.example.org"


def program() -> str:
    """Debian has it where ordinary users do not look."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin") or ""


def settings(place: Path, port: int, server: int) -> str:
    """The guide's, with other ports and another certificate, and what they are part of."""
    found = re.search(r"^```text\n(map \$http_upgrade.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    if not found:
        raise Failed(f"{GUIDE.name} has no settings for nginx")
    theirs = found[1]
    for ours, others in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8720", f"127.0.0.1:{server}"),
        ("/etc/ssl/certs/jar.pem", f"{place}/cert.pem"),
        ("/etc/ssl/private/jar.key", f"{place}/key.pem"),
    ):
        expect(ours in theirs, f"{ours} in the guide", theirs)
        theirs = theirs.replace(ours, others)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {place}/{kind};\n" for kind in kinds)
    return (
        f"daemon off;\npid {place}/pid;\nerror_log {place}/errors;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{paths}{theirs}}}\n"
    )


@contextmanager
def nginx(server: Client):
    """A client that speaks to the server through nginx."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="belljar-nginx.") as directory:
        place = Path(directory)
        # Its workers are nobody.
        place.chmod(0o755)
        certificate(place)
        (place / "nginx.conf").write_text(settings(place, port, server.port))
        command = [program(), "-p", directory, "-e", f"{directory}/errors", "-c", f"{directory}/nginx.conf"]
        running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            through = Client(port, speaks_tls=True)
            through.token, through.host = server.token, NAME
            wait_until("nginx", through.is_ready)
            yield through
        finally:
            running.terminate()
            running.wait(PATIENCE)


def events_and_terminals_pass_through_nginx(image: Image) -> None:
    if not program():
        raise Failed("there is no nginx here: install it (Debian: nginx-light)")
    server = image.start(granted("The least"), "--host-name", NAME).client()
    with nginx(server) as client:
        expect(client.run("emit_result(6 * 7)").get("final_data") == 42, "42", "something else")
        large = "# " + "x" * (2 << 20) + "\nemit_result(1)"
        expect(client.run(large).get("final_data") == 1, "a script of 2 MiB", "something else")
        events = client.begin("import time\nprint('go', flush=True)\ntime.sleep(3600)")
        first, running = next(events), server.get("/v1/status")["runs"]["running"]
        expect(
            (first.get("type"), running) == ("stdout", 1), "an event while the run goes on", (first, running)
        )
        made = client.post("/v1/workspaces", {})
        begin = {"command": "cat", "terminal": {"rows": 24, "cols": 80}}
        id = client.post(f"/v1/workspaces/{made['id']}/programs", begin)["id"]
        socket_key = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        socket_key["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
        answer = client.ask("GET", f"/v1/programs/{id}/terminal", **socket_key)
        expect(answer.status == 101, "101 Switching Protocols", answer.status)
        client.host = "elsewhere.example"
        answer = client.ask("GET", "/v1/runs")
        expect(answer.status == 403, "403 for another name", answer.status)


PROXIES = (events_and_terminals_pass_through_nginx,)
