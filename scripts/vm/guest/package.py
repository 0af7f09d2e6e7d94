"""The package, on the machine that it is for: installed, used, and removed. One line for each claim.

python3 package.py     in the machine, as root, with `/job/belljar.deb`
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import machine
import service
from claims import HANG, Line

PACKAGE = "/job/belljar.deb"
EXAMPLES = Path("/usr/share/doc/belljar/examples/systemd")
SCRIPT = "import os\nprint('user', os.getuid() != 0)\nemit_result(6 * 7)\n"
# What systemd, dpkg and everybody's caches write by themselves, and what is no file of a disk.
NOT_OURS = ("/proc", "/sys", "/dev", "/run", "/tmp", "/job", "/var/log", "/var/cache", "/var/lib/dpkg")


def ran(*command: str) -> tuple[int, str]:
    """How a command ended, and all that it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG)
    return done.returncode, done.stdout.strip()


def claim(name: str, expected: str, *command: str, says: str = "") -> Line:
    """A command ends well, and says this."""
    code, said = ran(*command)
    return Line(name, code == 0 and says in said, expected, f"exit {code}, {said[-300:]!r}")


def as_user(*command: str) -> tuple[str, ...]:
    return (*machine.AS_USER, "HOME=/home/u", *command)


def files() -> set[str]:
    """Every file on the disk that a package could have made."""
    found = subprocess.run(["find", "/", "-xdev", "!", "-type", "d"], capture_output=True, text=True).stdout
    return {path for path in found.splitlines() if not path.startswith(NOT_OURS)}


def units() -> Iterable[Line]:
    """The two examples, installed as they say themselves."""
    Path("/etc/belljar").mkdir()
    Path("/etc/belljar/answer.py").write_text(SCRIPT)
    ran("cp", str(EXAMPLES / "system/belljar@.service"), "/etc/systemd/system/")
    ran("systemctl", "daemon-reload")
    yield claim("the unit for the system", "exit 0", "systemctl", "start", "belljar@answer")
    ran("journalctl", "--sync")
    journal = ("journalctl", "--no-pager", "--output=cat", "--unit=belljar@answer")
    yield claim("its journal", "42", *journal, says="\n42")
    copies = "mkdir -p ~/belljar ~/.config/systemd/user; cp /etc/belljar/answer.py ~/belljar/; "
    copies += f"cp {EXAMPLES}/user/belljar@.service ~/.config/systemd/user/; systemctl --user daemon-reload"
    ran(*as_user("sh", "-c", copies))
    started = as_user("systemctl", "--user", "start", "belljar@answer")
    yield claim("the unit of a user", "exit 0", *started)
    Path("/etc/belljar/wrong.py").write_text("raise SystemExit(3)\n")
    code, said = ran("systemctl", "start", "belljar@wrong")
    yield Line("a script that fails", code != 0, "a unit that fails", f"exit {code}, {said[-200:]!r}")
    tidy = "rm -r /etc/belljar /home/u/belljar /home/u/.config /etc/systemd/system/belljar@.service"
    ran("sh", "-c", tidy)
    ran("systemctl", "daemon-reload")


def lines() -> Iterable[Line]:
    # The image leaves manuals out, to be small. People have them.
    Path("/etc/dpkg/dpkg.cfg.d/99mmdebstrap").unlink(missing_ok=True)
    before = files()
    yield claim("installed", "exit 0", "dpkg", "-i", PACKAGE)
    yield claim("the command", "its version", "belljar", "--version", says="belljar ")
    yield claim(
        "doctor, as a user",
        "cells can be made",
        *as_user("belljar", "doctor"),
        says="with every protection",
    )
    run = as_user("belljar", "run", "--no-stdin", "-c", "emit_result(6 * 7)")
    yield claim("a script, as a user", "42", *run, says="42")
    manual = Path("/usr/share/man/man1/belljar-run.1.gz")
    text = gzip.open(manual, "rt").read() if manual.exists() else ""
    yield Line("manual", ".SH" in text, "a page about `run`", f"{len(text)} characters")
    completions = "/usr/share/bash-completion/completions/belljar"
    yield claim("completions", "a file that bash can read", "bash", "-n", completions)
    yield claim("AppArmor", "a service that starts", "systemctl", "restart", "apparmor.service")
    yield from units()
    yield from service.lines(PACKAGE)
    yield claim("purged", "exit 0", "dpkg", "--purge", "belljar")
    yield service.purged()
    left = sorted(path for path in files() - before if not path.startswith("/home/u/.cache"))
    yield Line("what is left", not left, "nothing", str(left))


def main() -> int:
    failed = False
    for line in lines():
        failed |= not line.holds
        print(line, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
