"""Where trials ask doctor, and the tools with which they change the machine."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path

import machine
from advice import Remedy
from claims import HANG
from doctor import COMMAND, Report

# A user who never logged in, so no systemd of theirs runs.
NEWCOMER = "newcomer"


def shell(*commands: str) -> None:
    """Runs what a person would type as root."""
    for command in commands:
        subprocess.run(command, shell=True, check=True, timeout=HANG, stdout=subprocess.DEVNULL)


def add_newcomer() -> None:
    shell(f"useradd --create-home {NEWCOMER}")


def remove_tree(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _manager_is(state: str, user: str) -> None:
    unit = f"user@{pwd.getpwnam(user).pw_uid}.service"
    deadline = time.monotonic() + machine.PATIENCE
    while True:
        shown = subprocess.run(
            ["systemctl", "is-active", unit], capture_output=True, text=True
        ).stdout.strip()
        if shown == state:
            return
        assert time.monotonic() < deadline, f"{unit} is {shown} and does not become {state}"
        time.sleep(0.2)


def wait_for_manager(user: str) -> None:
    """A person who was told that a systemd starts now takes longer than that to type the next command."""
    _manager_is("active", user)


def end_manager(user: str) -> None:
    shell(f"loginctl disable-linger {user}", f"systemctl stop user@{pwd.getpwnam(user).pw_uid}.service")
    _manager_is("inactive", user)


class Service:
    """A service of the system's that asks doctor, with these settings in its unit."""

    UNIT = "trial.service"
    FILE = Path("/etc/systemd/system", UNIT)
    ANSWER = Path("/run/trial.json")

    def __init__(self, *settings: str) -> None:
        self.settings = list(settings)

    def install(self) -> None:
        # A fault is no failure of the unit, which a restart would report.
        unit = ["[Service]", "Type=oneshot", f"ExecStart={' '.join(COMMAND)}", "SuccessExitStatus=3"]
        unit += [f"StandardOutput=truncate:{self.ANSWER}"]
        # systemd gives a system service no HOME unless that says `User=`.
        if not any(setting.startswith("User=") for setting in self.settings):
            unit += ["Environment=HOME=/root"]
        self.FILE.write_text("\n".join([*unit, *self.settings, ""]))
        shell("systemctl daemon-reload")

    def look(self) -> Report:
        self.ANSWER.write_text("")
        subprocess.run(["systemctl", "restart", self.UNIT], timeout=HANG)
        return Report.parsed(self.ANSWER.read_text())

    def drop_settings(self, remedy: Remedy) -> None:
        """Removes what the remedy says to remove."""
        named = tuple(each for each in remedy.quoted() if each.endswith("="))
        left = [setting for setting in self.settings if not setting.startswith(named)]
        assert len(left) < len(self.settings), f"{remedy.name} names none of {self.settings}"
        self.settings = left
        self.install()

    def edit(self, remedy: Remedy) -> None:
        """Adds a setting in an editor, as the remedy says. That command wants a terminal."""
        setting, command = remedy.quoted(UNIT=self.UNIT)
        editor, dropin = Path("/usr/local/bin/trial-editor"), Path(f"{self.FILE}.d/override.conf")
        # Nothing on /run can be run. It may be told a line to begin at; the file comes last.
        editor.write_text(
            "#!/bin/bash\n"
            f"exec sed -i '/^### Lines below this comment/i [Service]\\n{setting}' \"${{@: -1}}\"\n"
        )
        editor.chmod(0o755)
        said = subprocess.run(
            ["script", "--quiet", "--return", "--command", command, "/dev/null"],
            env={**os.environ, "SYSTEMD_EDITOR": str(editor), "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG,
        ).stdout
        written = dropin.read_text() if dropin.is_file() else ""
        assert setting in written, f"`{command}` wrote {written!r} and said {said!r}"

    def uninstall(self) -> None:
        self.FILE.unlink(missing_ok=True)
        remove_tree(Path(f"{self.FILE}.d"))
        shell("systemctl daemon-reload")


class Unmanaged:
    """What a machine without systemd looks like: nobody is where it would be, and all processes are in
    the root of the tree."""

    def __init__(self) -> None:
        self.user = "u"

    def as_user(self) -> None:
        self.user = "u"

    def as_root(self) -> None:
        self.user = "root"

    def look(self) -> Report:
        hidden = f"mount -t tmpfs none /run/systemd && exec runuser -u {self.user} -- {' '.join(COMMAND)}"
        script = f"echo $$ >{machine.CONTROL_GROUPS}/cgroup.procs && exec unshare --mount sh -c '{hidden}'"
        return Report.of("sh", "-c", script)
