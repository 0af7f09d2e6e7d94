"""The table of remedies, as people read it in docs/reference/remedies.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# Brought along to the machine; or in the sources.
_PLACES = ("../remedies.md", "../../../docs/reference/remedies.md")
_ROW = re.compile(r"^\| `(?P<name>\w+)` \| (?P<when>.*?) \| (?P<text>.*) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Remedy:
    """One row: what is printed when, by this name."""

    name: str
    when: str
    text: str

    def quoted(self, **words: str) -> list[str]:
        """What stands between backticks, with the words in capitals filled in."""
        found = re.findall(r"`([^`]*)`", self.text)
        for word, value in words.items():
            found = [re.sub(rf"\b{word}\b", value, each) for each in found]
        return found


def table() -> list[Remedy]:
    places = [Path(__file__).parent / place for place in _PLACES]
    page = next(place for place in places if place.is_file()).read_text()
    rows = [Remedy(**row.groupdict()) for row in _ROW.finditer(page)]
    # A row that the pattern does not know must not be passed over.
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows and len(rows) == len(lines), f"{len(rows)} of {len(lines)} rows of the table can be read"
    return rows
