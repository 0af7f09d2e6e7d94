"""Follows every remedy that `belljar doctor` prints: makes the fault, reads the advice, does what it
says, and looks again. One line for each trial.

python3 remedies.py                  in the machine, as root: every trial that needs no other boot
python3 remedies.py NAME…            the trials of these remedies only
python3 remedies.py --faulty-boot    in a machine that was booted with the faults of `boots.py`

The table is docs/reference/remedies.md, which is beside this directory or above it. A remedy that is
in it and not in `trials.TRIALS` is a failure, and so is one that is only in the latter.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable

import boots
import stage
import surroundings
from advice import Remedy, table
from claims import Line
from doctor import Report, judged
from trials import TRIALS, Elsewhere, Trial


def followed(remedy: Remedy, trial: Trial) -> Iterable[Line]:
    """Makes the fault, and does what the remedy says about it."""
    name = f"{remedy.name}: {trial.about}"
    try:
        trial.fault()
        yield judged(f"{name}: advice", trial.look(), trial.row, remedy.text)
        trial.follow(remedy)
        yield judged(f"{name}: followed", trial.look(), trial.row, None)
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        # The next ones have a machine that is as it was, so they are tried.
        yield Line(name, False, "that it can be done", f"{error}")
    finally:
        trial.undo()


def every_remedy(wanted: list[str]) -> Iterable[Line]:
    """Each remedy of the table has its trials, or a reason why it has none here. All are tried, unless
    some are named."""
    remedies = table()
    named = {remedy.name for remedy in remedies}
    unknown, gone = sorted(named - TRIALS.keys()), sorted(TRIALS.keys() - named)
    expected = "a trial for each remedy of the table"
    yield Line(
        "table", not unknown and not gone, expected, f"{unknown or 'none'} without, {gone or 'none'} gone"
    )
    for remedy in remedies:
        for trial in TRIALS.get(remedy.name, ()) if not wanted or remedy.name in wanted else ():
            if isinstance(trial, Elsewhere):
                print(f"elsewhere {remedy.name}: {trial.reason}", flush=True)
            else:
                yield from followed(remedy, trial)


def faulty_boot() -> Iterable[Line]:
    """The advice of a machine that was booted with faults. Its next boot is without."""
    texts = {remedy.name: remedy.text for remedy in table()}
    seen = Report.here()
    for name, row in boots.ROWS.items():
        yield judged(f"{name}: advice", seen, row, texts[name])


def repaired_boot() -> Iterable[Line]:
    seen = Report.here()
    for name, row in boots.ROWS.items():
        yield judged(f"{name}: followed", seen, row, None)


def printed(lines: Iterable[Line]) -> bool:
    """Whether one of them failed."""
    failed = False
    for line in lines:
        failed |= not line.holds
        print(line, flush=True)
    return failed


def main(arguments: list[str]) -> int:
    if arguments == ["--faulty-boot"]:
        return int(printed(faulty_boot()))
    begun = time.monotonic()
    stage.add_newcomer()
    failed = not arguments and printed(repaired_boot())
    failed |= printed(every_remedy(arguments))
    failed |= not arguments and printed(surroundings.looks())
    print(f"took      {time.monotonic() - begun:.0f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
