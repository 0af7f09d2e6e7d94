"""The package's unit `belljar-serve`: started, used, reloaded, stopped and killed. One line for each claim.

`client.py` is that of scripts/deploy_suite, which scripts/test-vm brings along.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import looks
import machine
from claims import HANG, Line, holding
from client import Client, Failed, wait_until

UNIT = "belljar-serve.service"
TOKEN = Path("/var/lib/belljar/token")
DROPIN = Path(f"/etc/systemd/system/{UNIT}.d/tls.conf")
KEYS = Path("/etc/belljar-tls")
PORT = 8720
# The unit's own, in seconds.
STOP = 60
# Says `go`, and goes on until somebody has had the time to stop the unit.
GOES_ON = "import time\nprint('go', flush=True)\ntime.sleep(15)\nemit_result('done')"
SMALL = {"name": "small", "resource_limits": {"memory_mb": 64, "cpu_quota": 2.0}}


def systemctl(*arguments: str) -> str:
    """What it says, also if it fails: that is what claims are about."""
    ran = subprocess.run(
        ["systemctl", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG
    )
    return ran.stdout.strip()


def shown(name: str) -> str:
    return systemctl("show", "--value", f"--property={name}", UNIT)


def equal(name: str, expected: Any, seen: Any) -> Line:
    return Line(name, expected == seen, str(expected), str(seen))


def started(speaks_tls: bool = False) -> Client:
    """Starts the unit, and waits until it takes requests."""
    said = systemctl("start", UNIT)
    client = Client(PORT, speaks_tls)
    wait_until(f"a server that is ready: {said or shown('ActiveState')}", client.is_ready, HANG)
    client.token = TOKEN.read_text().strip()
    return client


def going_on(client: Client, script: str) -> Iterator[dict[str, Any]]:
    """A run that goes on: the events after the first, which says so."""
    events = client.begin(script)
    first = next(events)
    assert first.get("type") == "stdout", first
    return events


def use() -> Iterable[Line]:
    client = started()
    ran = client.run("emit_result(6 * 7)")
    yield equal("service: a script", (42, []), (ran.get("final_data"), ran.get("warnings", ran)))
    yield equal("service: protections that are missing", set(), client.inactive())
    anonymous = Client(PORT)
    yield equal("service: without a token", 401, anonymous.ask("GET", "/v1/runs").status)
    ran = client.run(holding(180), config=SMALL)
    yield equal("service: 180 MB under 64", "oom", ran.get("verdict", ran))
    main = int(shown("MainPID"))
    yield equal("service: its user", True, os.stat(f"/proc/{main}").st_uid != 0)
    groups = {looks.group_of(pid) for pid in looks.descendants(main)}
    inside = all(f"/{UNIT}/" in group for group in groups)
    yield Line("service: where cells are", bool(groups) and inside, f"below {UNIT}", str(sorted(groups)))
    systemctl("reload", UNIT)
    same = (int(shown("MainPID")), shown("ActiveState"), client.is_ready())
    yield equal("service: reloaded", (main, "active", True), same)


def stopped(before: machine.Census) -> Iterable[Line]:
    """In the middle of a run, which may end."""
    events, begun = going_on(started(), GOES_ON), time.monotonic()
    stopping = subprocess.Popen(["systemctl", "stop", UNIT])
    *_, last = events
    yield equal("service: stopped in mid-run", ("ok", "done"), (last.get("verdict"), last.get("final_data")))
    code, took = stopping.wait(HANG), time.monotonic() - begun
    seen = f"exit {code}, {shown('Result')} after {took:.0f} s"
    holds = (code, shown("Result")) == (0, "success") and took < STOP
    yield Line("service: stopped", holds, f"success within {STOP} s", seen)
    yield equal("service: what is left", [], before.left_over())


def killed() -> Iterable[Line]:
    """With `kill -9`, in the middle of a run with children."""
    client = started()
    going_on(client, looks.WITH_CHILDREN)
    main = int(shown("MainPID"))
    below, begun = set(looks.descendants(main)), time.monotonic()
    os.kill(main, signal.SIGKILL)
    left = looks.waited_for(lambda: sorted(below & set(machine.processes())))
    took = f"{left} of {len(below)} processes after {time.monotonic() - begun:.1f} s"
    yield Line("service: killed", bool(below) and not left, "cells that die", took)
    again = Client(PORT)
    again.token = client.token
    wait_until("a server that is ready again", again.is_ready, HANG)
    newer = (int(shown("MainPID")) != main, shown("NRestarts"))
    yield equal("service: started again", (True, "1"), newer)
    newest = again.get("/v1/runs?limit=1")["runs"][0]
    yield equal("service: its history", "infra", newest["verdict"])
    ran = again.run("emit_result(6 * 7)")
    yield equal("service: a script after that", 42, ran.get("final_data", ran))
    groups = {group for group in machine.groups() if f"/{UNIT}/" in group}
    living = {looks.group_of(pid) for pid in looks.descendants(int(shown("MainPID")))}
    dead = looks.waited_for(
        lambda: sorted(each for each in groups & machine.groups() if is_empty(each) and each not in living)
    )
    yield equal("service: groups of dead cells", [], dead)
    systemctl("stop", UNIT)


def is_empty(group: str) -> bool:
    return "populated 0" in looks.text_of(looks.directory_of(group) / "cgroup.events")


def renew() -> str:
    """A new key, which only a group can read, and a certificate for it."""
    kind = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
    command = f"{kind} -keyout {KEYS}/key.pem -out {KEYS}/cert.pem"
    subprocess.run(command.split(), check=True, capture_output=True)
    shutil.chown(KEYS / "key.pem", group="jar-tls")
    (KEYS / "key.pem").chmod(0o640)
    return fingerprint((KEYS / "cert.pem").read_text())


def fingerprint(text: str) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).hexdigest()[:16]


def served() -> str:
    return fingerprint(ssl.get_server_certificate(("127.0.0.1", PORT)))


def with_tls() -> Iterable[Line]:
    """The drop-in of the guide, with other files."""
    subprocess.run(["groupadd", "--system", "jar-tls"], check=True)
    KEYS.mkdir()
    DROPIN.parent.mkdir()
    first = renew()
    options = f"--listen 0.0.0.0:{PORT} --tls-cert {KEYS}/cert.pem --tls-key {KEYS}/key.pem"
    start = f"ExecStart=\nExecStart=/usr/bin/belljar serve {options}\n"
    DROPIN.write_text(f"[Service]\nSupplementaryGroups=jar-tls\n{start}")
    systemctl("daemon-reload")
    client = started(speaks_tls=True)
    yield equal("service: over TLS", 42, client.run("emit_result(6 * 7)").get("final_data"))
    yield equal("service: its certificate", first, served())
    second = renew()
    systemctl("reload", UNIT)
    looks.waited_for(lambda: [] if served() == second else [second])
    yield equal("service: reloaded with another", second, served())
    systemctl("stop", UNIT)
    shutil.rmtree(KEYS)
    shutil.rmtree(DROPIN.parent)
    subprocess.run(["groupdel", "jar-tls"], check=True)
    systemctl("daemon-reload")


def upgraded(package: str) -> Iterable[Line]:
    """While it runs. It is left running, and enabled, for the package's removal to end."""
    systemctl("enable", UNIT)
    client, main = started(), shown("MainPID")
    subprocess.run(["dpkg", "-i", package], check=True, capture_output=True, timeout=HANG)
    wait_until("a server that is ready again", client.is_ready, HANG)
    newer = (shown("MainPID") != main, client.run("emit_result(6 * 7)").get("final_data"))
    yield equal("service: upgraded", (True, 42), newer)


def purged() -> Line:
    """After the package is."""
    left = [name for name in machine.processes().values() if name.startswith("belljar")]
    return equal("service: purged", ("inactive", []), (systemctl("is-active", UNIT), left))


def exposure() -> Line:
    """How exposed systemd takes the unit to be: 0 is best, 10 worst. Cells need namespaces and mounts."""
    rated = subprocess.run(
        ["systemd-analyze", "security", "--no-pager", UNIT], capture_output=True, text=True, timeout=HANG
    ).stdout.strip()
    figure = rated.splitlines()[-1] if rated else ""
    return Line("service: systemd-analyze security", " OK " in figure, "OK", figure)


def lines(package: str) -> Iterable[Line]:
    enabled = (systemctl("is-enabled", UNIT), systemctl("is-active", UNIT))
    yield equal("service: as installed", ("disabled", "inactive"), enabled)
    yield exposure()
    before = machine.Census.taken()
    try:
        yield from use()
        yield from stopped(before)
        yield from killed()
        yield from with_tls()
        yield equal("service: what is left in the end", [], before.left_over())
        yield from upgraded(package)
    except Failed as error:
        log = subprocess.run(
            ["journalctl", "--no-pager", "--output=cat", f"--unit={UNIT}"], capture_output=True, text=True
        ).stdout
        yield Line("service", False, "a server that answers", f"{error}; its log: {log[-1500:]!r}")
