"""Named, versioned files that outlive the cells that made them."""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from ._native import native
from ._pending import Native, Pending

__all__ = ["Artifact", "Artifacts"]


class Artifact(NamedTuple):
    """One version of an artifact."""

    data: bytes
    mime_type: str
    version: Optional[int]


def default_store() -> str:
    """Where the command keeps the artifacts of this user."""
    own = os.environ.get("BELLJAR_ARTIFACTS")
    if own:
        return own
    data = os.environ.get("XDG_DATA_HOME")
    base = Path(data) if data and os.path.isabs(data) else Path.home() / ".local/share"
    return str(base / "belljar/artifacts")


class Artifacts:
    """Named, versioned files in a directory, in a bucket (`s3://…`) or in memory (`memory=True`).

    >>> artifacts = Artifacts(memory=True)
    >>> artifacts.save("report.txt", "first").wait(), artifacts.save("report.txt", "second").wait()
    (0, 1)
    >>> artifacts.load("report.txt").wait().data, artifacts.load("report.txt", version=0).wait().data
    (b'second', b'first')
    """

    def __init__(
        self,
        place: Union[str, os.PathLike[str], None] = None,
        *,
        memory: bool = False,
        app: str = "belljar",
        user: str = "",
        session: str = "",
    ) -> None:
        self._place = None if memory else (os.fspath(place) if place is not None else default_store())
        self._whose = (app, user, session)
        self._opened: Any = None

    def _store(self) -> Any:
        if self._opened is None:
            self._opened = native.Artifacts(self._place, *self._whose)
        return self._opened

    def save(self, name: str, data: Union[bytes, str], mime_type: Optional[str] = None) -> Pending[int]:
        """Saves a new version, and gives its number. The first is 0."""
        content = data.encode() if isinstance(data, str) else bytes(data)
        kind = mime_type or mimetypes.guess_type(name)[0] or "application/octet-stream"

        async def work() -> int:
            version: int = await Native(self._store().save(name, content, kind))
            return version

        return Pending(work)

    def load(self, name: str, version: Optional[int] = None) -> Pending[Optional[Artifact]]:
        """A version, or the latest. `None` if there is nothing of that name."""

        async def work() -> Optional[Artifact]:
            found = await Native(self._store().load(name, version))
            return None if found is None else Artifact(*found)

        return Pending(work)

    def versions(self, name: str) -> Pending[list[int]]:
        """The versions of one, from the first to the latest."""

        async def work() -> list[int]:
            return list(await Native(self._store().versions(name)))

        return Pending(work)

    def delete(self, name: str) -> Pending[None]:
        """Removes every version of one."""

        async def work() -> None:
            await Native(self._store().delete(name))

        return Pending(work)

    def list(self) -> Pending[list[str]]:
        """All names."""

        async def work() -> list[str]:
            return list(await Native(self._store().names()))

        return Pending(work)
