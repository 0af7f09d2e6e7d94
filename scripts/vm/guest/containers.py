"""Containers on a stock machine: the docker engine on every daemon, and native cells inside.

    python3 containers.py [NAME…]             in the machine, as root: these parts only
    python3 containers.py --on DAEMON         the claims about one daemon, as whoever has started this

`/job/base.tar` is the root directory of `python:3.11-slim`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import claims
import inside_containers
import looks
import machine
from claims import BELLJAR, HANG, Claim, Line
from daemons import DAEMONS, IMAGE, Daemon
from doctor import Report

READS_WHAT_IS_LENT = Claim(
    "a directory that is lent can be read, and not written to",
    ("--mount", "/job/guest:/data"),
    "import os\ntry: open('/data/new', 'w')\nexcept OSError as error: emit_result([len(os.listdir('/data')) > 3, error.errno])",
    "[True, EROFS]",
    lambda seen: seen.data == [True, 30],
)
ASKS_SOMEBODY = Claim(
    "a host that is not allowed cannot be reached, and one that is can",
    ("--allow-host", "198.51.100.7:8000"),
    """
import urllib.request
def ask(host):
    try: return urllib.request.urlopen(f"http://{host}:8000/hello", timeout=60).read().decode().strip()
    except OSError as error: return "refused"
emit_result([ask("198.51.100.7"), ask("198.51.100.8")])
""",
    "hello of the first, nothing of the second",
    lambda seen: seen.data == ["hello", "refused"],
)


def doctor(daemon: Daemon) -> Line:
    """Every protection but the one that no container has, and those this daemon cannot give."""
    seen = Report.here()
    missing = {"landlock", *daemon.lacks}
    holds = seen.is_fit and set(seen.faults()) == missing
    groups = seen.rows.get("control groups", {}).get("detail")
    return Line(
        "doctor", holds, f"all but {sorted(missing)}", f"all but {seen.faults()} {seen.said} ({groups})"
    )


def workspace() -> Line:
    """What a program leaves in a workspace, the next one and its owner outside can read."""
    name = f"kept-{os.getpid()}"
    steps = (
        ("new", name),
        ("run", name, "--", "sh", "-c", "mkdir a && echo kept >a/b"),
        ("run", name, "--", "cat", "a/b"),
        ("get", name, "a/b", f"/tmp/{name}"),
        ("rm", name),
    )
    said = []
    for step in steps:
        ran = subprocess.run([BELLJAR, "ws", *step], capture_output=True, text=True, timeout=HANG)
        said.append(ran.stdout.strip() if ran.returncode == 0 else f"{step[0]}: {ran.stderr.strip()[-300:]}")
    try:
        with open(f"/tmp/{name}") as file:
            said.append(file.read().strip())
    except OSError as error:
        said.append(str(error))
    holds = said[2] == "kept" and said[-1] == "kept"
    return Line("a workspace is kept from program to program", holds, "kept, inside and outside", str(said))


def killed() -> Line:
    """Containers end with the Belljar that made them, however it ends."""
    command = [BELLJAR, "run", "--no-stdin", "--timeout", "3600s", "-c", looks.WITH_CHILDREN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        said = host.stdout.readline()
        host.kill()
    left = looks.waited_for(running)
    return Line(
        "killed: containers", said == "go\n" and not left, "one that ran, none left", f"{said!r}, {left}"
    )


def running() -> list[str]:
    """The containers that run on this daemon."""
    listed = subprocess.run(["docker", "ps", "-q"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def on(daemon: Daemon) -> int:
    """Prints a line for each claim. Exits with 1 if one does not hold."""
    # Doctor's image first: the others share its layers. And the one that is killed last, as others
    # would tidy up after it.
    rounds: tuple[tuple[Callable[[], Line], ...], ...] = (
        (lambda: doctor(daemon),),
        (*(claim.look for claim in (*claims.CLAIMS, READS_WHAT_IS_LENT, ASKS_SOMEBODY)), workspace),
        (killed,),
    )
    failed = False
    for looked_at in rounds:
        with ThreadPoolExecutor(2) as pool:
            for job in [pool.submit(look) for look in looked_at]:
                line = job.result()
                failed |= not line.holds
                print(f"{daemon.name:<14} {line}", flush=True)
    return int(failed)


def visit(daemon: Daemon) -> bool:
    """Starts a daemon, looks at every claim as who may use it, and stops it. Whether one failed."""
    begun = time.monotonic()
    daemon.start()
    daemon.import_image("/job/base.tar")
    # Once before it counts: systemd and its bus start what they need, and keep it.
    daemon.run("run", "--rm", "--network=none", IMAGE, "true")
    before = machine.groups()
    command = [sys.executable, "-B", __file__, "--on", daemon.name]
    failed = subprocess.run(daemon.command(*command)).returncode != 0
    left = looks.waited_for(lambda: sorted(machine.groups() - before))
    line = Line("control groups that are left", not left, "none", str(left))
    print(f"{daemon.name:<14} {line}", flush=True)
    failed |= inside_containers.look(daemon)
    daemon.stop()
    print(f"{daemon.name:<14} {daemon.about}: {time.monotonic() - begun:.0f} s", flush=True)
    return failed or bool(left)


def somebody_to_ask() -> None:
    """A web server at an address that is nobody's, on this machine; and one that must not be asked."""
    for address in ("198.51.100.7", "198.51.100.8"):
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    subprocess.run(["sh", "-c", "mkdir /srv/www && echo hello >/srv/www/hello"], check=True)
    serve = ["python3", "-m", "http.server", "--directory", "/srv/www", "8000"]
    subprocess.run(["systemd-run", "--quiet", "--unit=www", *serve], check=True)


def main(names: list[str]) -> int:
    somebody_to_ask()
    chosen = [daemon for daemon in DAEMONS if daemon.name in names or not names]
    failed = False
    for daemon in chosen:
        failed |= visit(daemon)
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--on"]:
        sys.exit(on(next(daemon for daemon in DAEMONS if daemon.name == sys.argv[2])))
    sys.exit(main(sys.argv[1:]))
