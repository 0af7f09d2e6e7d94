"""Figures of the candidates, as a table for people or one object for machines. Knows nothing of how they were taken."""

from __future__ import annotations

import math
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Freshness:
    """What a job starts from, what confines it, and where its packages come from."""

    starts_from: str
    confined_by: str
    packages: str


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    version: str
    fresh: Freshness
    n: int
    p50_ms: float
    p95_ms: float
    note: str = ""
    against: str = "belljar"  # the candidate whose job is the same


@dataclass(frozen=True)
class Absence:
    name: str
    reason: str
    failed: bool  # it is here, and did not do the job


def percentile(values: list[float], share: float) -> float:
    """The nearest rank: always a value that was measured."""
    ranked = sorted(values)
    return ranked[max(math.ceil(len(ranked) * share), 1) - 1]


def machine() -> dict:
    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _field("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_mb": int((_field("/proc/meminfo", "MemTotal") or "0").split()[0]) // 1024,
        "cgroups": "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "v1",
        "root": os.geteuid() == 0,
        "load_before": round(os.getloadavg()[0], 2),
    }


def _field(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def ratio(row: Row, rows: list[Row]) -> float | None:
    """How much longer it takes than the candidate it is compared with, if that one is there."""
    return next((row.p50_ms / base.p50_ms for base in rows if base.name == row.against), None)


def as_json(run: dict, rows: list[Row], absent: list[Absence]) -> dict:
    figures = [{**asdict(row), "ratio": ratio(row, rows)} for row in rows]
    return {**run, "candidates": figures, "absent": [asdict(one) for one in absent]}


def as_text(run: dict, rows: list[Row], absent: list[Absence]) -> str:
    m = run["machine"]
    user = "root" if m["root"] else "ordinary user"
    parts = [
        f"{m['kernel']}, {m['architecture']}, {m['cores']} cores ({m['processor'] or 'unknown'}), {m['memory_mb']} MB, "
        f"cgroups {m['cgroups']}, {user}",
        f"Python {run['python']['version']} ({run['python']['path']}); load {m['load_before']} before, "
        f"{m['load_after']} after; {run['rounds']} rounds, {run['seconds']:.0f} s",
        "",
        *_figures(rows),
        "",
        *_freshness(rows),
        "",
        f"Each job has to answer {{'a': 1}}, and comes after a rest of {run['rest_ms']} ms. × is p50 against belljar's "
        "same job: a script, or one call of a function of the host's.",
        *(f"{row.name}: {row.note}." for row in rows if row.note),
        *(f"{one.name}: {'FAILED' if one.failed else 'skipped'}: {one.reason}" for one in absent),
    ]
    return "\n".join(parts)


def _figures(rows: list[Row]) -> list[str]:
    numbers = [(str(row.n), _short(row.p50_ms), _short(row.p95_ms), _short(ratio(row, rows))) for row in rows]
    lines = [(row.name, row.what, *four) for row, four in zip(rows, numbers)]
    return _table(("candidate", "what", "n", "p50 ms", "p95 ms", "×"), lines, numbers_from=2)


def _freshness(rows: list[Row]) -> list[str]:
    lines = [(row.name, *asdict(row.fresh).values()) for row in rows]
    return _table(("candidate", "each job starts from", "confined by", "packages"), lines, numbers_from=4)


def _table(header: tuple, lines: list[tuple], numbers_from: int) -> list[str]:
    widths = [max(map(len, column)) for column in zip(header, *lines)]
    texts = [
        "  ".join(
            cell.rjust(width) if column >= numbers_from else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in (header, *lines)
    ]
    return [texts[0], "-" * max(map(len, texts)), *texts[1:]]


def _short(value: float | None) -> str:
    """Three digits that mean something."""
    if value is None:
        return "-"
    if value < 0.1:
        return f"{value:.3f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def self_test() -> None:
    assert percentile([3, 1, 2], 0.5) == 2, "the middle one of three"
    assert percentile([1, 2], 0.5) == 1 and percentile([7], 0.95) == 7, "a measured value, never one between"
    assert percentile(list(range(1, 101)), 0.95) == 95
    fresh = Freshness("a", "b", "c")
    rows = [Row("belljar", "ex", "", fresh, 3, 0.5, 1.0), Row("y", "why", "", fresh, 3, 50.0, 123.4)]
    assert ratio(rows[1], rows) == 100
    lines = _figures(rows)
    assert len({len(line) for line in lines}) == 1, "columns line up"
    assert lines[3].split() == ["y", "why", "3", "50.0", "123", "100"], lines[3]
    assert _figures(rows[1:])[2].split()[-1] == "-", "no ratio without belljar"
    assert _freshness(rows)[2].split() == ["belljar", "a", "b", "c"]
