"""Claims that take more than one run to look at: doctor, a Belljar that is killed, a unit's group."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import machine
from claims import BELLJAR, HANG, MIB, Line

CELLS_LIMIT = 64 * MIB
# Says `go` once its three children are there.
WITH_CHILDREN = """
import os, time
for _ in range(3):
    if os.fork() == 0: break
else: print("go", flush=True)
time.sleep(3600)
"""


def doctor() -> Line:
    """It finds every protection, limits on whole trees of processes among them."""
    ran = subprocess.run([BELLJAR, "doctor", "--json"], capture_output=True, text=True, timeout=HANG)
    report = json.loads(ran.stdout)
    protections = report.get("protections", [])
    wrong = [
        f"{each['name']} {each['state']} ({each['detail']})"
        for each in protections + report.get("checks", [])
        if each["state"] not in ("active", "ok")
    ]
    seen = "; ".join(wrong) or f"exit {ran.returncode}, {len(protections)} active"
    return Line("doctor", ran.returncode == 0 and not wrong, "every protection active", seen)


def types_of_groups() -> list[Line]:
    """A group that is not a plain `domain` any more is of no use to systemd."""
    said = doctor()
    group = directory_of(machine.own_group())
    types = {each.name: text_of(each / "cgroup.type") for each in (group, group.parent)}
    holds = set(types.values()) == {"domain"}
    name, expected = "the groups of a unit that counts no memory, after doctor", "domain, and domain above"
    return [said, Line(name, holds, expected, str(types))]


class Victim:
    """A Belljar that is killed with `kill -9` while a script with children runs.

    It is killed after everything else has ended: whoever starts may remove what dead ones left.
    """

    def start(self) -> Line:
        command = [BELLJAR, "run", "--no-stdin", "--timeout", "3600s", "--memory", "64m", "-c", WITH_CHILDREN]
        before = machine.groups()
        self.host = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.host.stdout is not None
        self.said = self.host.stdout.readline()
        self.below = descendants(self.host.pid)
        places = {group_of(pid) for pid in self.below}
        made = {str(above) for place in places for above in (Path(place), *Path(place).parents)}
        self.made = made - before
        return place_of_cells(places)

    def kill(self) -> list[Line]:
        self.host.kill()
        self.host.wait()
        lived = f"of {len(self.below)} processes and {len(self.made)} groups"
        left = waited_for(lambda: sorted(set(self.below) & set(machine.processes())))
        ended = self.said == "go\n" and not left
        if any(group.endswith("/belljar-host") for group in self.made):
            # The unit goes on, and nobody tidies up in it but the next Belljar that runs there.
            subprocess.run([BELLJAR, "run", "--no-stdin", "-c", "pass"], check=True, timeout=HANG)
        rest = waited_for(lambda: sorted(self.made & machine.groups()))
        gone = bool(self.made) and not rest
        return [
            Line("killed: processes", ended, "a script that ran, nothing left", f"{left} {lived}"),
            Line("killed: groups", gone, "some made, none left", f"{rest} {lived}"),
        ]


def place_of_cells(places: set[str]) -> Line:
    """Without `Delegate=` what is below a unit is systemd's, which may undo what others do there."""
    name, expected = "where cells are", "a group with the limit, below a unit that is delegated"
    limited = [place for place in places if text_of(directory_of(place) / "memory.max") == str(CELLS_LIMIT)]
    if not limited:
        return Line(name, False, expected, f"no group with the limit: {sorted(places)}")
    units = units_of(limited[0])
    if not units:
        return Line(name, False, expected, f"{limited[0]}, which is in no unit")
    delegate = delegated(units)
    own = units_of(machine.own_group())
    if delegated(own) == "yes":
        # The operator's limits on this unit must count for cells.
        return Line(name, units == own, f"a group with the limit, in {own[-1]}", limited[0])
    return Line(name, delegate == "yes", expected, f"{limited[0]}, Delegate={delegate}")


def units_of(group: str) -> list[str]:
    """The units that a group is in, from the outside."""
    return [part for part in group.split("/") if part.endswith((".service", ".scope"))]


def delegated(units: list[str]) -> str:
    """What systemd says of the innermost of these units: `yes`, or anything else."""
    # Whose unit it is: that of the user's manager, which is a unit itself, or the system's.
    manager = ["--user"] if units[0] == f"user@{os.getuid()}.service" and len(units) > 1 else []
    shown = subprocess.run(
        ["systemctl", *manager, "show", "--property=Delegate", "--value", units[-1]],
        capture_output=True,
        text=True,
    )
    return shown.stdout.strip() or shown.stderr.strip()


def directory_of(group: str) -> Path:
    return machine.CONTROL_GROUPS / group.lstrip("/")


def group_of(pid: int) -> str:
    return text_of(Path(f"/proc/{pid}/cgroup")).removeprefix("0::")


def text_of(path: Path) -> str:
    """What is in a file; nothing, if it is gone."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """Every process below this one. The kernel lists children by the thread that made them."""
    found = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, text_of(listing).split()):
            found += [child, *descendants(child)]
    return found


def waited_for(what: Callable[[], list]) -> list:
    """Looks until there is nothing, or for long enough."""
    deadline = time.monotonic() + machine.PATIENCE
    while (left := what()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left
