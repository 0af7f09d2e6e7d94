"""What Belljar takes as everybody, in units of `python3 -c pass` beside it: the machine is emulated.

    python3 figures.py                   in the machine, as root: starts itself as everybody
    python3 figures.py --inside          a row, as whoever has started this

Rounds alternate, so that a row is not the victim of a slow minute.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

import machine
from claims import BELLJAR

ROUNDS = 2
TIMES = 5
# There is nobody to ask for groups.
_NO_BUS = ("InaccessiblePaths=/run/user /run/dbus /run/systemd/private", "Environment=HOME=/home/u")
USER_ALONE = machine.Identity(
    "user-alone", "an ordinary user with no systemd to ask", machine.system("User=u", *_NO_BUS)
)
ROWS = (*machine.IDENTITIES, USER_ALONE)


def timed(*command: str) -> float:
    """How long a command takes, in milliseconds: the median of some."""
    taken = []
    for _ in range(TIMES):
        begun = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        taken.append((time.monotonic() - begun) * 1000)
    return statistics.median(taken)


def inside() -> None:
    """Prints a row, as JSON."""
    bare = timed("python3", "-c", "pass")
    cold = timed(BELLJAR, "run", "--no-stdin", "-c", "emit_result(1)")
    soak = {rate["what"]: rate["value"] for rate in told_by("bench", "--soak", "100", "--json")["rates"]}
    each = 1000 / soak["fresh runs, 32 callers on 4 + 4 cells"]
    checks = {check["name"]: check["detail"] for check in told_by("doctor", "--json")["checks"]}
    row = {"bare": bare, "cold": cold / bare, "each": each / bare, "groups": checks["control groups"]}
    print(json.dumps(row), flush=True)


def told_by(*arguments: str) -> dict[str, Any]:
    """What Belljar prints as JSON."""
    return json.loads(subprocess.run([BELLJAR, *arguments], capture_output=True, text=True).stdout)


def everybody() -> None:
    """Prints the table: of each figure, the median of all rounds."""
    rows: dict[str, list[dict[str, Any]]] = {who.name: [] for who in ROWS}
    for _ in range(ROUNDS):
        for who in ROWS:
            command = who.command(sys.executable, "-B", __file__, "--inside")
            told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            print(f"{who.name:<14} {told.strip()}", flush=True)
            rows[who.name].append(json.loads(told))
    print("\n| started as | control groups | `python3 -c pass`, ms | `belljar run` | a run in a pool |")
    print("|---|---|---|---|---|")
    for name, seen in rows.items():
        of = {key: statistics.median(row[key] for row in seen) for key in ("bare", "cold", "each")}
        figures = f"{of['bare']:.0f} | {of['cold']:.1f} | {of['each']:.2f}"
        print(f"| `{name}` | {seen[-1]['groups']} | {figures} |")


if __name__ == "__main__":
    inside() if sys.argv[1:2] == ["--inside"] else everybody()
