"""What `belljar doctor --json` says, and how a row of it is judged."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from claims import BELLJAR, HANG, Line

COMMAND = (BELLJAR, "doctor", "--json")
# The rows that a remedy may be about. What else doctor looks at, such as pip, is not the machine's.
GROUPS = ("cgroup_memory", "cgroup_cpu", "cgroup_pids")


@dataclass(frozen=True)
class Report:
    """The rows by name, and whether cells can be made."""

    rows: dict[str, dict[str, Any]]
    is_fit: bool
    said: str

    @classmethod
    def parsed(cls, text: str, said: str = "") -> Report:
        if not text.startswith("{"):
            return cls({}, False, f"{text} {said}".strip()[-300:])
        report = json.loads(text)
        rows = {row["name"]: row for row in report["protections"] + report["checks"]}
        return cls(rows, report["ok"], said)

    @classmethod
    def of(cls, *command: str) -> Report:
        """What a command prints that runs doctor."""
        ran = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
        return cls.parsed(ran.stdout, ran.stderr)

    @classmethod
    def here(cls) -> Report:
        return cls.of(*COMMAND)

    def faults(self) -> list[str]:
        """The names of all rows that are not as they should be."""
        return [name for name, row in self.rows.items() if row["state"] not in ("active", "ok")]


def judged(name: str, seen: Report, row: str, advice: str | None) -> Line:
    """A row must give this advice; or, if that is none, be active where cells can be made."""
    found = seen.rows.get(row)
    if found is None:
        return Line(name, False, f"a row {row}", f"{list(seen.rows)} {seen.said!r}")
    if advice is None:
        holds = found["state"] in ("active", "ok") and seen.is_fit
        why = f" ({found['reason'] or found['detail']})" if not holds else ""
        saw = f"{row} {found['state']}{why}, cells {'can' if seen.is_fit else 'cannot'} be made"
        rest = [each for each in seen.faults() if each != row]
        return Line(name, holds, f"{row} active, cells can be made", saw + (f"; also {rest}" if rest else ""))
    # Where nothing could be tried, no row has a remedy, and the advice is in the detail.
    given = found["remedy"] or found["detail"]
    is_bad = found["state"] not in ("active", "ok")
    holds = is_bad and (given == advice if found["remedy"] else given.endswith(advice))
    saw = f"{found['state']} ({found['reason'] or found['detail']})"
    saw += " with that advice" if holds else f": {given!r}"
    return Line(name, holds, f"{row} not active, `{advice[:60]}…`", saw)
