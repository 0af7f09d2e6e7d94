"""What calls from Python take, beside the same calls from Rust and beside what one would use instead.

python -m belljar.bench              one warm run: from Rust, waited for, awaited
python -m belljar.bench --json       the same, every time in milliseconds, for `belljar bench`
python -m belljar.bench --grader N   N small programs: `belljar.run` and `subprocess.run`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ._pending import Native, Pending
from .sandbox import Sandbox

__all__ = ["main"]

SCRIPT = "emit_result(1)"
# How many cells are made and then used, and how long each run is followed by nothing, in seconds.
ROUND, REST = 10, 0.01


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(
        prog="python -m belljar.bench", description="What calls from Python take."
    )
    parser.add_argument("-n", type=int, default=500, help="how many runs of each kind (500)")
    parser.add_argument("--grader", type=int, metavar="N", help="N small programs instead")
    parser.add_argument("--json", action="store_true", help="every time, in milliseconds")
    given = parser.parse_args(arguments)
    if given.grader:
        grader(given.grader)
        return
    times = overhead(given.n)
    if given.json:
        print(json.dumps(times))
        return
    base = statistics.median(times["from Rust"])
    print(f"{'warm run':12} {'p50 ms':>8} {'p99 ms':>8} {'over Rust':>10}")
    for kind, found in times.items():
        middle, late = statistics.median(found), statistics.quantiles(found, n=100)[98]
        print(f"{kind:12} {middle:8.3f} {late:8.3f} {middle - base:10.3f}")


def overhead(count: int) -> dict[str, list[float]]:
    """Milliseconds of warm runs of each kind. They take turns, so that a busy moment is busy for all.

    Cells are made first and then used, and after each run there is a rest, so that no run shares the
    processor with the making or the end of another cell.
    """
    sandbox = Sandbox(pool_size=0).open().wait()
    assert sandbox._opened is not None
    opened, plain = sandbox._opened, json.dumps({"script": SCRIPT})
    times: dict[str, list[float]] = {"from Rust": [], "wait()": [], "await": []}

    async def from_rust() -> list[float]:
        found: list[float] = await Native(opened.time_runs(plain, ROUND, REST))
        return found

    def waited() -> list[float]:
        found = []
        for _ in range(ROUND):
            begun = time.perf_counter()
            sandbox.run(SCRIPT).wait()
            found.append((time.perf_counter() - begun) * 1000)
            time.sleep(REST)
        return found

    async def awaited() -> list[float]:
        found = []
        for _ in range(ROUND):
            begun = time.perf_counter()
            await sandbox.run(SCRIPT)
            found.append((time.perf_counter() - begun) * 1000)
            await asyncio.sleep(REST)
        return found

    for _ in range(max(1, count // ROUND)):
        sandbox.warm(ROUND).wait()
        times["from Rust"] += Pending(from_rust).wait()
        sandbox.warm(ROUND).wait()
        times["wait()"] += waited()
        sandbox.warm(ROUND).wait()
        times["await"] += asyncio.run(awaited())
    sandbox.close().wait()
    return times


def _program(number: int) -> str:
    """A small program as graders have them: a function, and its tests. Every tenth is wrong."""
    wrong = " + 1" if number % 10 == 9 else ""
    return f"""
def solve(numbers):
    total = {number}
    for number in numbers:
        if number % 2 == 0:
            total += number * number
    return total{wrong}

def check(candidate):
    assert candidate([]) == {number}
    assert candidate([1, 2, 3, 4]) == {number + 20}
    assert candidate(list(range(100))) == {number + 161700}

check(solve)
"""


def grader(count: int) -> None:
    """The same programs in cells and as plain processes, by two threads each."""
    programs = [_program(number) for number in range(count)]
    sandbox = Sandbox(pool_size=4, timeout=10).open().wait()

    def in_cell(program: str) -> bool:
        return sandbox.run(program).wait().success

    def as_process(program: str) -> bool:
        done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, timeout=10)
        return done.returncode == 0

    right = [number % 10 != 9 for number in range(count)]
    print(f"{count} programs, two at a time")
    for name, grade in (("belljar", in_cell), ("subprocess.run", as_process)):
        begun = time.perf_counter()
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(grade, programs))
        took = time.perf_counter() - begun
        wrong = sum(one != other for one, other in zip(found, right))
        print(f"{name:16} {took:7.2f} s  {count / took:7.0f} a second  {wrong} judged wrongly")
    sandbox.close().wait()


if __name__ == "__main__":
    main()
