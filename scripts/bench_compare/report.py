"""Figures of the candidates, as a table for people or one object for machines. Knows nothing of how they were taken."""
from __future__ import annotations

import math
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional


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
    cores = os.cpu_count()
    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _field("/proc/cpuinfo", "model name"),
        "cores": cores,
        "memory_mb": int((_field("/proc/meminfo", "MemTotal") or "0").split()[0]) // 1024,
        "cgroups": "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "v1",
        "root": os.geteuid() == 0,
        "load_before": round(os.getloadavg()[0], 2),
    }


def _field(path: str, name: str) -> Optional[str]:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def ratio(row: Row, base: Optional[Row]) -> Optional[float]:
    return row.p50_ms / base.p50_ms if base else None


def as_json(run: dict, rows: list[Row], base: Optional[Row], absent: list[Absence]) -> dict:
    figures = [{**asdict(row), "ratio": ratio(row, base)} for row in rows]
    return {**run, "candidates": figures, "absent": [asdict(one) for one in absent]}


def as_text(run: dict, rows: list[Row], base: Optional[Row], absent: list[Absence]) -> str:
    m = run["machine"]
    user = "root" if m["root"] else "ordinary user"
    parts = [
        f"{m['kernel']}, {m['architecture']}, {m['cores']} cores ({m['processor'] or 'unknown'}), {m['memory_mb']} MB, "
        f"cgroups {m['cgroups']}, {user}",
        f"Python {run['python']['version']} ({run['python']['path']}); load {m['load_before']} before, "
        f"{m['load_after']} after; {run['rounds']} rounds, {run['seconds']:.0f} s",
        "",
        *_table(rows, base),
        "",
        "Every job has to give back {\"a\": 1} and comes after a rest of "
        f"{run['rest_ms']} ms. × is p50 against belljar's.",
    ]
    parts += [f"{one.name}: {'FAILED' if one.failed else 'skipped'}: {one.reason}" for one in absent]
    return "\n".join(parts + run["notes"])


def _table(rows: list[Row], base: Optional[Row]) -> list[str]:
    header = ("what", "n", "p50 ms", "p95 ms", "×", "each job starts from", "confined by", "packages")
    numbers = range(1, 5)
    cells = [header] + [
        (
            row.what, str(row.n), _short(row.p50_ms), _short(row.p95_ms),
            "-" if base is None else _short(ratio(row, base)), *asdict(row.fresh).values(),
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    lines = [
        "  ".join(cell.rjust(width) if column in numbers else cell.ljust(width)
                  for column, (cell, width) in enumerate(zip(line, widths))).rstrip()
        for line in cells
    ]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def _short(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def self_test() -> None:
    assert percentile([3, 1, 2], 0.5) == 2, "the middle one of three"
    assert percentile([1, 2], 0.5) == 1 and percentile([7], 0.95) == 7, "a measured value, never one between"
    assert percentile(list(range(1, 101)), 0.95) == 95
    fresh = Freshness("a", "b", "c")
    rows = [Row("x", "ex", "", fresh, 3, 0.5, 1.0), Row("y", "why", "", fresh, 3, 50.0, 123.4)]
    assert ratio(rows[1], rows[0]) == 100
    lines = _table(rows, rows[0])
    assert len({line.index("a") for line in lines[2:]}) == 1, "columns line up"
    assert lines[3].split() == ["why", "3", "50.0", "123", "100", "a", "b", "c"], lines[3]
    assert _table(rows, None)[2].split()[4] == "-", "no ratio without belljar"
