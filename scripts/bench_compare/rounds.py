"""Who runs when: every candidate a little in every round, each round begun by another one, none begun that would take too long."""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from collections import defaultdict

from .candidates import Candidate, Sample
from .channel import Failure
from .presence import Absent, Setting
from .report import Absence, Row, percentile

REST_S = 0.010  # before each job, for all alike: what `belljar bench` does
PAUSE_S = 0.4  # between candidates: what one leaves to be cleared away is not the next one's
TOTAL_S = 170.0  # for everything


class Comparison:
    def __init__(self, candidates: list[Candidate], setting: Setting) -> None:
        self._setting = setting
        self._candidates = candidates
        self._opened: list[Candidate] = []
        self._samples: dict[Candidate, list[Sample]] = defaultdict(list)
        self.absent: list[Absence] = []
        self.rounds = 0

    def run(self, rounds: int, scale: float) -> list[Row]:
        begun = time.monotonic()
        with contextlib.ExitStack() as stack:  # one that cannot be closed does not keep the others open
            for candidate in self._candidates:
                stack.callback(candidate.close)
            self._open()
            while self.rounds < rounds and self._opened:
                turn = time.monotonic()
                note(f"round {self.rounds + 1} of {rounds}…")
                self._round(scale)
                self.rounds += 1
                if 2 * time.monotonic() - turn - begun > TOTAL_S:  # another one like this
                    break
        return [row(one, self._samples[one]) for one in self._opened if self._samples[one]]

    def _open(self) -> None:
        for candidate in self._candidates:
            note(f"preparing {candidate.name}…")
            try:
                candidate.open(self._setting)
            except (Absent, Failure) as error:
                self._leave_out(candidate, error)
            else:
                self._opened.append(candidate)

    def _round(self, scale: float) -> None:
        shift = self.rounds % len(self._opened)
        for candidate in self._opened[shift:] + self._opened[:shift]:
            time.sleep(PAUSE_S)
            try:
                self._samples[candidate].append(
                    candidate.jobs(max(int(candidate.per_round * scale), 2), REST_S)
                )
            except Failure as error:
                self._leave_out(candidate, error)
                self._opened.remove(candidate)

    def _leave_out(self, candidate: Candidate, error: Exception) -> None:
        self.absent.append(Absence(candidate.name, str(error), isinstance(error, Failure)))


def row(candidate: Candidate, samples: list[Sample]) -> Row:
    """All rounds as one. Where only each round's percentiles are known: the median of their p50, and the worst p95, which the
    p95 of all together cannot exceed."""
    if all(sample.times_ms for sample in samples):
        times = [time_ms for sample in samples for time_ms in sample.times_ms]
        p50_ms, p95_ms = percentile(times, 0.5), percentile(times, 0.95)
    else:
        p50_ms = statistics.median(sample.p50_ms for sample in samples)
        p95_ms = max(sample.p95_ms for sample in samples)
    n = sum(sample.n for sample in samples)
    figures = {"n": n, "p50_ms": round(p50_ms, 4), "p95_ms": round(p95_ms, 4)}
    told = {"note": candidate.note, "against": candidate.against}
    return Row(candidate.name, candidate.what, candidate.version, candidate.fresh, **told, **figures)


def note(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
