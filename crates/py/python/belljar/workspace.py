"""Directories that outlive the programs in them, and the programs.

with belljar.Workspace("job-17") as job:
    job.put("in/data.csv", "a,b\\n1,2\\n").wait()
    counted = job.run("wc", "-l", "in/data.csv").wait()
"""

from __future__ import annotations

import json
import os
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from ._pending import Native, Pending
from .config import SandboxConfig, make_config
from .runtime import Runtime, default_runtime
from .sandbox import Content
from .session import FileEntry

if TYPE_CHECKING:
    from . import _belljar

__all__ = ["Difference", "Output", "Program", "ProgramResult", "Workspace", "WorkspaceFile", "Workspaces"]

StrPath = Union[str, "os.PathLike[str]"]


@dataclass
class ProgramResult:
    """How a program ended, and what it printed."""

    exit_code: int
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    signal: Optional[int] = None
    timed_out: bool = False
    duration_seconds: float = 0.0
    verdict: Optional[str] = None
    truncated: dict[str, Any] = field(default_factory=dict)
    """What is missing of the streams: `stdout` and `stderr`, each with `total_bytes` and `spill`."""

    @property
    def success(self) -> bool:
        """Whether it ran to its end and said that all is well."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def stdout(self) -> str:
        """What it printed, as text."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """What it printed to standard error, as text."""
        return self.stderr_bytes.decode("utf-8", "replace")


class WorkspaceFile(NamedTuple):
    """A file that was collected."""

    name: str
    media_type: str
    size: int
    truncated: bool
    content: bytes

    @property
    def text(self) -> str:
        """Its content as text."""
        return self.content.decode("utf-8", "replace")


class Difference(NamedTuple):
    """A path that differs between two workspaces."""

    path: str
    change: str
    size_before: Optional[int]
    size_after: Optional[int]


class Output(NamedTuple):
    """What a program printed since the last time."""

    status: str
    """`running` or `exited`."""
    data: bytes
    offset: int
    next_offset: int
    exit_code: Optional[int]

    @property
    def text(self) -> str:
        """The bytes as text."""
        return self.data.decode("utf-8", "replace")


def _result(parts: tuple[str, bytes, bytes]) -> ProgramResult:
    told = json.loads(parts[0])
    return ProgramResult(
        exit_code=told["exit_code"],
        stdout_bytes=parts[1],
        stderr_bytes=parts[2],
        signal=told.get("signal"),
        timed_out=told.get("timed_out", False),
        duration_seconds=told.get("duration_seconds", 0.0),
        verdict=told.get("verdict"),
        truncated=told.get("truncated", {}),
    )


def default_store(engine: str) -> Path:
    """Where the command keeps the workspaces of this user."""
    own = os.environ.get("BELLJAR_WORKSPACES")
    if own:
        return Path(own) / engine
    data = os.environ.get("XDG_DATA_HOME")
    base = Path(data) if data and os.path.isabs(data) else Path.home() / ".local/share"
    return base / "belljar/workspaces" / engine


class Workspaces:
    """The workspaces of a directory. `config` says what programs may use and reach."""

    def __init__(
        self,
        store: Optional[StrPath] = None,
        *,
        config: Union[SandboxConfig, str, None] = None,
        runtime: Optional[Runtime] = None,
        max_output_bytes: Optional[int] = None,
        max_disk_bytes: Optional[int] = None,
        **values: Any,
    ) -> None:
        self.runtime = runtime if runtime is not None else default_runtime()
        self.config = make_config(config, **values)
        self.store = Path(store) if store is not None else default_store(self.runtime.engine)
        given = {"max_output_bytes": max_output_bytes, "max_disk_bytes": max_disk_bytes}
        self._more = {name: value for name, value in given.items() if value is not None}
        self._opened: Optional[_belljar.Workspaces] = None

    async def _open(self) -> _belljar.Workspaces:
        if self._opened is None:
            runtime = await self.runtime._open()
            self._opened = runtime.workspaces(self.store.absolute(), self.config.to_json(), self._more)
        return self._opened

    def workspace(self, id: str, *, max_disk_bytes: int = 0) -> Workspace:
        """The workspace of that id. It is made if it is not there, and stays until it is removed."""

        async def begin() -> _belljar.Workspace:
            opened: _belljar.Workspace = await Native((await self._open()).workspace(id, max_disk_bytes))
            return opened

        return Workspace(id, begin=begin)

    def find(self, id: str) -> Pending[Workspace]:
        """One that is there. Otherwise this is a `NotFound`."""

        async def work() -> Workspace:
            opened: _belljar.Workspace = await Native((await self._open()).find(id))
            return Workspace(id, opened=opened)

        return Pending(work)

    def remove(self, id: str) -> Pending[None]:
        """Removes one. One that is gone is no error."""

        async def work() -> None:
            await Native((await self._open()).remove(id))

        return Pending(work)

    def list(self) -> Pending[list[str]]:
        """The ids of all."""

        async def work() -> list[str]:
            return list(await Native((await self._open()).list()))

        return Pending(work)


class Workspace:
    """A directory that outlives the programs in it."""

    def __init__(
        self,
        id: str,
        *,
        begin: Optional[Callable[[], Coroutine[Any, Any, _belljar.Workspace]]] = None,
        opened: Optional[_belljar.Workspace] = None,
        **options: Any,
    ) -> None:
        self.id = id
        self._opened = opened
        self._begin = begin
        if begin is None and opened is None:
            self._begin = Workspaces(**options).workspace(id)._begin

    async def _open(self) -> _belljar.Workspace:
        if self._opened is None:
            assert self._begin is not None
            self._opened = await self._begin()
        return self._opened

    def open(self) -> Pending[Workspace]:
        """Makes it now, if it is not there."""

        async def work() -> Workspace:
            await self._open()
            return self

        return Pending(work)

    def put(self, path: str, content: Content) -> Pending[None]:
        """Writes text or bytes, or copies a file or directory of this machine (a `Path`)."""
        given = content.encode() if isinstance(content, str) else content
        data: Union[bytes, Path] = given if isinstance(given, bytes) else Path(given).absolute()

        async def work() -> None:
            await Native((await self._open()).put(path, data))

        return Pending(work)

    def read(self, path: str) -> Pending[bytes]:
        """The whole content of a file."""

        async def work() -> bytes:
            content: bytes = await Native((await self._open()).read(path))
            return content

        return Pending(work)

    def read_text(self, path: str, encoding: str = "utf-8") -> Pending[str]:
        """The whole content of a file, as text."""

        async def work() -> str:
            content: bytes = await Native((await self._open()).read(path))
            return content.decode(encoding)

        return Pending(work)

    def exists(self, path: str) -> Pending[bool]:
        """Whether something is at a path. Links are not followed."""

        async def work() -> bool:
            return (await Native((await self._open()).look(path))) is not None

        return Pending(work)

    def is_dir(self, path: str) -> Pending[bool]:
        """Whether a directory is at a path."""

        async def work() -> bool:
            found = await Native((await self._open()).look(path))
            return found is not None and bool(found[0])

        return Pending(work)

    def remove_file(self, path: str) -> Pending[None]:
        """Removes a file."""

        async def work() -> None:
            await Native((await self._open()).remove_file(path))

        return Pending(work)

    def run(
        self,
        cmd: str,
        *args: str,
        stdin: Union[bytes, str] = b"",
        env: Optional[Mapping[str, str]] = None,
        cwd: str = "",
        timeout: Optional[float] = None,
        limits: Optional[Mapping[str, int]] = None,
        clean_env: bool = False,
    ) -> Pending[ProgramResult]:
        """Runs a program to its end. `limits`: `cpu_percent`, `memory_mb`, `max_pids`, `disk_mb`."""
        spec = _spec(cmd, args, env, cwd, timeout, limits, clean_env)

        async def work() -> ProgramResult:
            return _result(await Native((await self._open()).run(json.dumps(spec), _bytes(stdin))))

        return Pending(work)

    def start(
        self,
        cmd: str,
        *args: str,
        stdin: Union[bytes, str] = b"",
        env: Optional[Mapping[str, str]] = None,
        cwd: str = "",
        timeout: Optional[float] = None,
        limits: Optional[Mapping[str, int]] = None,
        clean_env: bool = False,
        tty: bool = False,
        rows: Optional[int] = None,
        cols: Optional[int] = None,
        idle_timeout: Optional[float] = None,
    ) -> Program:
        """Starts a program that is talked to, perhaps with a terminal."""
        spec = _spec(cmd, args, env, cwd, timeout, limits, clean_env)
        spec["tty"] = tty
        given = {"rows": rows, "cols": cols, "idle_timeout_seconds": idle_timeout}
        spec.update((name, value) for name, value in given.items() if value is not None)

        async def begin() -> _belljar.Program:
            opened: _belljar.Program = await Native(
                (await self._open()).start(json.dumps(spec), _bytes(stdin))
            )
            return opened

        return Program(begin)

    def collect(self, *patterns: str) -> Pending[list[WorkspaceFile]]:
        """Reads the files that match: `*.png`, `out/**`."""

        async def work() -> list[WorkspaceFile]:
            return [
                WorkspaceFile(*each) for each in await Native((await self._open()).collect(list(patterns)))
            ]

        return Pending(work)

    def fork(self, id: str) -> Pending[Workspace]:
        """Makes a second one of the same content, independent of this one from then on."""

        async def work() -> Workspace:
            opened: _belljar.Workspace = await Native((await self._open()).fork(id))
            return Workspace(id, opened=opened)

        return Pending(work)

    def diff(self, other: Workspace) -> Pending[list[Difference]]:
        """What is different in another one."""

        async def work() -> list[Difference]:
            found = json.loads(await Native((await self._open()).diff(await other._open())))
            return [
                Difference(each["path"], each["change"], each.get("size_before"), each.get("size_after"))
                for each in found
            ]

        return Pending(work)

    def remove(self) -> Pending[None]:
        """Removes it."""

        async def work() -> None:
            await Native((await self._open()).remove())

        return Pending(work)

    def __enter__(self) -> Workspace:
        return self.open().wait()

    def __exit__(self, *_: object) -> None:
        pass

    async def __aenter__(self) -> Workspace:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"<Workspace {self.id!r}>"

    def list(self) -> Pending[list[FileEntry]]:
        """What is in it, by path."""

        async def work() -> list[FileEntry]:
            return [FileEntry(*each) for each in await Native((await self._open()).list())]

        return Pending(work)


def _bytes(text: Union[bytes, str]) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _spec(
    cmd: str,
    args: tuple[str, ...],
    env: Optional[Mapping[str, str]],
    cwd: str,
    timeout: Optional[float],
    limits: Optional[Mapping[str, int]],
    clean_env: bool,
) -> dict[str, Any]:
    spec: dict[str, Any] = {"cmd": cmd, "args": list(args), "cwd": cwd, "clean_env": clean_env}
    if env:
        spec["env"] = dict(env)
    if limits:
        spec["limits"] = dict(limits)
    if timeout is not None:
        spec["timeout_seconds"] = timeout
    return spec


class Program:
    """A program in progress: it can be polled, written to, resized and killed.

    It is started when it is first used, or on entering it. Leaving it behind kills it.
    """

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, _belljar.Program]]) -> None:
        self._begin = begin
        self._opened: Optional[_belljar.Program] = None

    async def _open(self) -> _belljar.Program:
        if self._opened is None:
            self._opened = await self._begin()
        return self._opened

    def _doing(self, act: Callable[[_belljar.Program], Any]) -> Pending[None]:
        async def work() -> None:
            await Native(act(await self._open()))

        return Pending(work)

    def open(self) -> Pending[Program]:
        """Starts it now."""

        async def work() -> Program:
            await self._open()
            return self

        return Pending(work)

    def poll(self, limit: Optional[int] = None) -> Pending[Output]:
        """What it printed since the last time. It does not wait for more."""

        async def work() -> Output:
            return Output(*(await self._open()).poll(limit))

        return Pending(work)

    def log(self, offset: Optional[int] = None, limit: Optional[int] = None) -> Pending[dict[str, Any]]:
        """Lines that it printed, from line `offset` on. Reading them moves nothing."""

        async def work() -> dict[str, Any]:
            told: dict[str, Any] = json.loads((await self._open()).log(offset, limit))
            return told

        return Pending(work)

    def write(self, data: Union[bytes, str], newline: bool = False) -> Pending[None]:
        """Writes to its stdin."""
        return self._doing(lambda program: program.write(_bytes(data), newline))

    def send_eof(self) -> Pending[None]:
        """Closes its stdin."""
        return self._doing(lambda program: program.send_eof())

    def resize(self, rows: int, cols: int) -> Pending[None]:
        """Changes the size of its terminal."""
        return self._doing(lambda program: program.resize(rows, cols))

    def signal(self, number: int) -> Pending[None]:
        """Sends it a signal."""
        return self._doing(lambda program: program.signal(int(number)))

    def kill(self, grace: float = 0.0) -> Pending[None]:
        """Asks it to end, and kills it after `grace` seconds."""
        return self._doing(lambda program: program.kill(grace))

    def result(self) -> Pending[ProgramResult]:
        """How it ended, once it has."""

        async def work() -> ProgramResult:
            return _result(await Native((await self._open()).wait()))

        return Pending(work)

    def close(self) -> None:
        """Kills it, if it still runs."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __enter__(self) -> Program:
        return self.open().wait()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Program:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        self.close()
