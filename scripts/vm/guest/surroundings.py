"""Settings of a machine that look as if they could be in the way, and are not."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import machine
from claims import Line
from doctor import COMMAND, GROUPS, Report, judged
from stage import shell

WHO = machine.USER_LOGIN


@contextmanager
def done(command: str, and_back: str) -> Iterator[None]:
    shell(command)
    try:
        yield
    finally:
        shell(and_back)


def whole(name: str) -> Iterable[Line]:
    """An ordinary user has cells with every limit."""
    seen = Report.of(*WHO.command(*COMMAND))
    return [judged(f"{name}: {row}", seen, row, None) for row in ("user_namespace", *GROUPS)]


def looks() -> Iterable[Line]:
    with done("mount -o remount,hidepid=2 /proc", "mount -o remount,hidepid=0 /proc"):
        hidden = subprocess.run(WHO.command("test", "-e", "/proc/1")).returncode != 0
        yield Line(
            "hidepid=2: in force", hidden, "/proc/1 hidden from the user", "hidden" if hidden else "there"
        )
        yield from whole("hidepid=2")
    # It cannot be set back without a boot. So it is the last.
    shell("sysctl -qw kernel.yama.ptrace_scope=3")
    yield from whole("kernel.yama.ptrace_scope=3")
