"""What tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest

# Bounds on hangs, for machines that are slower than most.
PATIENCE = 60 * float(os.environ.get("BELLJAR_TEST_SLOWNESS", "1"))


def eventually(what: str, is_so: Callable[[], bool]) -> None:
    """Waits until something is so. A hang has a name."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.01)


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, and theirs."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        parent = int(stat.rsplit(")", 1)[1].split()[1])
        parents.setdefault(parent, []).append(int(entry))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            found.add(child)
            waiting.append(child)
    return found


def of_program(mark: str) -> set[int]:
    """The processes that have a variable of this name in their environment, wherever they are."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if f"{mark}=".encode() in Path(f"/proc/{entry}/environ").read_bytes():
                    found.add(int(entry))
            except OSError:
                continue
    return found


class Program:
    """A Python program of its own, and everything that it starts."""

    def __init__(self, source: str, **options: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,  # type: ignore[call-overload]
        )
        self.seen: set[int] = set()

    def line(self) -> str:
        """The next line that it prints. Remembers what it has started by then."""
        assert self.process.stdout is not None
        text = str(self.process.stdout.readline())
        if not text:
            assert self.process.stderr is not None
            raise AssertionError(f"it ended: {self.process.stderr.read()}")
        self.seen |= descendants(self.process.pid)
        return text.strip()

    def rest(self) -> tuple[str, str, int]:
        """What it says until its end, and how it ended."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return out, err, self.process.returncode

    def left(self) -> set[int]:
        """What it has started and still lives."""
        return {pid for pid in self.seen if Path(f"/proc/{pid}").exists() and not _is_zombie(pid)}

    def leaves_nothing(self) -> None:
        """Waits until nothing of it is left. It must have started something."""
        assert self.seen, "it has started nothing"
        eventually("nothing of it is left", lambda: not self.left())


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def program() -> Iterator[Callable[..., Program]]:
    """Starts programs, and ends those that a test leaves."""
    started: list[Program] = []

    def start(source: str, **options: object) -> Program:
        started.append(Program(source, **options))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()
