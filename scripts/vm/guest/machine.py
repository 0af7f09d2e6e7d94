"""The machine that checks run in: who may start Belljar there, and what must not be left afterwards.

It is used inside the virtual machine, by root in a plain system service. An `Identity` is one way to
be started by systemd; a `Census` holds what a program could leave behind.
"""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
# How long anything may take to go, in seconds: the machine is emulated, and slow.
PATIENCE = 20.0

_RUN = ("systemd-run", "--wait", "--pipe", "--collect", "--quiet")
AS_USER = ("runuser", "-u", "u", "--", "env", "XDG_RUNTIME_DIR=/run/user/1000")


@dataclass(frozen=True)
class Identity:
    """One way to be started: by whom, in which kind of unit."""

    name: str
    about: str
    start: tuple[str, ...]

    @property
    def is_delegated(self) -> bool:
        return "--property=Delegate=yes" in self.start

    def command(self, *program: str, **environment: str) -> list[str]:
        """The command that starts a program so, and waits for its end."""
        variables = [f"--setenv={name}={value}" for name, value in environment.items()]
        return [*self.start, *variables, *program]


def system(*properties: str) -> tuple[str, ...]:
    """A system service with these properties."""
    return (*_RUN, *(f"--property={each}" for each in properties))


def user(*properties: str) -> tuple[str, ...]:
    """A service of the ordinary user's own manager."""
    return (*AS_USER, *_RUN, "--user", *(f"--property={each}" for each in properties))


# systemd gives a system service no HOME unless that says `User=`.
_HOME = "Environment=HOME=/root"

ROOT_SERVICE = Identity("root-service", "root in a plain system service", system(_HOME))
ROOT_DELEGATED = Identity(
    "root-delegated", "root in a system service with `Delegate=yes`", system(_HOME, "Delegate=yes")
)
ROOT_LIMITED = Identity(
    "root-limited",
    "root in a system service with `Delegate=yes` and `MemoryMax=384M`",
    system(_HOME, "Delegate=yes", "MemoryMax=384M"),
)
USER_LOGIN = Identity("user-login", "an ordinary user in a login session", system("User=u", "PAMName=login"))
USER_DELEGATED = Identity(
    "user-delegated", "an ordinary user in a user service with `Delegate=yes`", user("Delegate=yes")
)
ROOT_UNCOUNTED = Identity(
    "root-uncounted",
    "root in a system service with `MemoryAccounting=no`",
    system(_HOME, "MemoryAccounting=no"),
)
USER_UNCOUNTED = Identity(
    "user-uncounted",
    "an ordinary user in a user service with `MemoryAccounting=no`",
    user("MemoryAccounting=no"),
)
IDENTITIES = (ROOT_SERVICE, ROOT_DELEGATED, USER_LOGIN, USER_DELEGATED)


def own_group() -> str:
    """The control group of this process, as a path in the tree."""
    return Path("/proc/self/cgroup").read_text().strip().removeprefix("0::")


def groups() -> set[str]:
    """Every control group there is."""
    return {path.removeprefix(str(CONTROL_GROUPS)) or "/" for path, _, _ in os.walk(CONTROL_GROUPS)}


def processes() -> dict[int, str]:
    """Every process but the kernel's own: its id and its name."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
            if directory.name != "2" and parent != 2:
                found[int(directory.name)] = (directory / "comm").read_text().strip()
        except OSError:
            continue  # It has ended meanwhile.
    return found


def _units(*command: str) -> set[str]:
    listing = [*command, "list-units", "--all", "--plain", "--no-legend", "--no-pager"]
    lines = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
    # Devices come and go as udev looks at them.
    return {line.split()[0] for line in lines if not line.split()[0].endswith(".device")}


@dataclass(frozen=True)
class Census:
    """Everything that a program could leave on a machine, besides files."""

    kinds: dict[str, set[str]]

    @classmethod
    def taken(cls) -> Census:
        mounts = Path("/proc/1/mountinfo").read_text().splitlines()
        return cls(
            {
                "control groups": groups(),
                "units": _units("systemctl")
                | {f"user: {u}" for u in _units(*AS_USER, "systemctl", "--user")},
                "mounts": {line.split()[4] for line in mounts},
                "processes": {f"{name} ({pid})" for pid, name in processes().items()},
            }
        )

    def counts(self) -> str:
        return ", ".join(f"{len(found)} {kind}" for kind, found in self.kinds.items())

    def left_over(self) -> list[str]:
        """What is there now and was not then, after a while in which everything may go."""
        deadline = time.monotonic() + PATIENCE
        while True:
            now = Census.taken()
            left = [each for kind, found in now.kinds.items() for each in sorted(found - self.kinds[kind])]
            # This very look takes processes of its own, which are gone by the next.
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.2)
