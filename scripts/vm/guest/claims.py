"""Claims about one run of one script: the table, and how a claim is judged.

`belljar run --json` is looked at from outside: how it exits, what it prints. A claim says what must
be so on a stock machine, whoever runs the script, and not what is.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

BELLJAR = "/job/belljar"
MIB = 1 << 20
# A bound on hangs, in seconds.
HANG = 240


@dataclass(frozen=True)
class Line:
    """How a claim turned out."""

    name: str
    holds: bool
    expected: str
    seen: str

    def __str__(self) -> str:
        state = "ok    " if self.holds else "FAILED"
        return f"{state}  {self.name}: expected {self.expected}; saw {self.seen}"


@dataclass(frozen=True)
class Seen:
    """What came of a run."""

    code: int
    result: dict[str, Any]
    said: str

    @property
    def data(self) -> Any:
        return self.result.get("final_data")

    def used(self, what: str) -> float:
        """A figure of the run's usage; nothing is 0."""
        return self.result.get("usage", {}).get(what) or 0

    def __str__(self) -> str:
        if not self.result:
            return f"exit {self.code}, {self.said.strip()[-300:]!r}"
        parts = [f"exit {self.code}", f"verdict {self.result['verdict']}"]
        parts += [f"data {self.data!r}"] if self.data is not None else []
        parts += [f"{name} {value}" for name, value in self.result["usage"].items()]
        parts += [f"{key} {self.result[key]!r}" for key in ("error", "warnings") if self.result[key]]
        return ", ".join(parts)


@dataclass(frozen=True)
class Claim:
    """One script, the flags it is run with, and what must come of it."""

    name: str
    flags: tuple[str, ...]
    script: str
    expected: str
    holds: Callable[[Seen], bool]

    def look(self, environment: Mapping[str, str] | None = None, start: tuple[str, ...] = ()) -> Line:
        """Runs the script and judges. `start` is a command that starts Belljar as somebody else."""
        command = [
            *start,
            BELLJAR,
            "run",
            "--json",
            "--no-stdin",
            "--timeout",
            "60s",
            *self.flags,
            "-c",
            self.script,
        ]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=HANG)
        result = json.loads(ran.stdout) if ran.stdout.startswith("{") else {}
        seen = Seen(ran.returncode, result, ran.stderr)
        return Line(self.name, self.holds(seen), self.expected, str(seen))


def ends_as(verdict: str, code: int) -> tuple[str, Callable[[Seen], bool]]:
    """For a run that has one possible end."""
    return (
        f"verdict {verdict}, exit {code}",
        lambda seen: (seen.result.get("verdict"), seen.code) == (verdict, code),
    )


def holding(megabytes: int) -> str:
    return f"held = bytearray(b'x') * ({megabytes} << 20)"


# Those that are alive when each of the six either has its memory or is dead.
SIX_CHILDREN = """
import os, signal
reading, writing = os.pipe()
children, settled, dead = [], set(), set()
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        held = bytearray(b"x") * (30 << 20)
        os.write(writing, b"%8d" % os.getpid())
        signal.pause()
    children.append(pid)
os.set_blocking(reading, False)
while len(settled) < 6:
    try: settled.add(int(os.read(reading, 8)))
    except BlockingIOError: pass
    for pid in children:
        if pid not in dead and os.waitpid(pid, os.WNOHANG)[0]:
            dead.add(pid)
            settled.add(pid)
emit_result(6 - len(dead))
"""

# Two processes: a limit on each of them would not be one on both.
TWO_BUSY = """
import os, time
begun, before = time.monotonic(), time.process_time()
child = os.fork()
while time.monotonic() - begun < 3: pass
if child == 0: os._exit(0)
os.waitpid(child, 0)
used = time.process_time() - before + os.times().children_user + os.times().children_system
emit_result(used / (time.monotonic() - begun))
"""

USES_SOME = """
import time
held = bytearray(b"x") * (30 << 20)
while time.process_time() < 0.3: pass
emit_result(42)
"""

# `--cpus 2`: without it a run may use half a processor, and takes twice as long.
CLAIMS = (
    Claim(
        "a script runs, and what it used is told",
        ("--cpus", "2", "--memory", "64m"),
        USES_SOME,
        "42, 250 ms of processor time or more, a peak of 30 to 64 MiB",
        lambda seen: (
            seen.data == 42
            # It counts what it used before it was in the group, too.
            and seen.used("cpu_ms") >= 250
            and 30 * MIB <= seen.used("peak_memory_bytes") < 64 * MIB
        ),
    ),
    Claim(
        "one process of 180 MB under 64",
        ("--cpus", "2", "--memory", "64m"),
        holding(180),
        *ends_as("oom", 137),
    ),
    Claim(
        "six children of 30 MB each under 64",
        ("--cpus", "2", "--memory", "64m"),
        SIX_CHILDREN,
        "at most 2 alive, 4 kills or more",
        lambda seen: seen.data is not None and seen.data <= 2 and seen.used("oom_kills") >= 4,
    ),
    Claim(
        "a fork bomb",
        ("--cpus", "2", "--pids", "24"),
        "import os\nwhile True: os.fork()",
        *ends_as("pids", 1),
    ),
    Claim(
        "two busy processes share a quarter of a processor",
        ("--cpus", "0.25"),
        TWO_BUSY,
        "0.32 at most",
        lambda seen: isinstance(seen.data, float) and 0.05 < seen.data <= 0.32,
    ),
)
NO_HOME = Claim("without HOME", (), "emit_result(7)", "7", lambda seen: seen.data == 7)
SWAP = Claim(
    "150 MB under 64, with 256 MB of swap",
    ("--cpus", "2", "--memory", "64m"),
    holding(150),
    *ends_as("oom", 137),
)
UNIT_LIMIT = Claim(
    "500 MB under the 384 of the unit, where the cell may have 1 GiB",
    ("--cpus", "2", "--memory", "1g"),
    holding(500),
    *ends_as("oom", 137),
)
