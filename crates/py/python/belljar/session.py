"""Steps that share their variables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from ._dispatch import callers
from ._pending import Native, Pending, is_async
from .errors import SessionOver
from .results import ExecutionResult, read_result
from .sandbox import Callback, Callbacks, Content, Execution, Request, Sandbox, Script, request

if TYPE_CHECKING:
    from . import _belljar

__all__ = ["FileEntry", "Session", "SessionFiles", "Variable"]

_MOST_BYTES = 1 << 30


class FileEntry(NamedTuple):
    """A file or a directory."""

    path: str
    size: int
    is_directory: bool


class Variable(NamedTuple):
    """A variable that steps have made."""

    name: str
    kind: str
    summary: Optional[str]


class Session:
    """A held cell: what one step defines, the next can use.

    It takes what `Sandbox` takes, or is made by `Sandbox.session()`. Its cell is taken when it is first
    used, or on entering it, and is destroyed on leaving it.

    >>> with Session() as session:
    ...     _ = session.step("x = 20").wait()
    ...     session.step("emit_result(x + 1)").wait().final_data
    21
    """

    def __init__(self, config: Any = None, *, sandbox: Optional[Sandbox] = None, **values: Any) -> None:
        self._owns_sandbox = sandbox is None
        self.sandbox = sandbox if sandbox is not None else Sandbox(config, **values)
        self._opened: Optional[_belljar.Session] = None
        self._is_closed = False
        self.files = SessionFiles(self)

    async def _open(self) -> _belljar.Session:
        if self._is_closed:
            raise SessionOver("the session is closed: start a new one")
        if self._opened is None:
            sandbox = await self.sandbox._open()
            opened: _belljar.Session = await Native(sandbox.session())
            if self._opened is None:
                self._opened = opened
        return self._opened

    def open(self) -> Pending[Session]:
        """Takes the cell now."""

        async def work() -> Session:
            await self._open()
            return self

        return Pending(work)

    def step(
        self,
        script: Script,
        *,
        on_event: Optional[Callback] = None,
        on_stdout: Optional[Callback] = None,
        on_stderr: Optional[Callback] = None,
        on_log: Optional[Callback] = None,
        on_intermediate: Optional[Callback] = None,
        on_display: Optional[Callback] = None,
        **options: Any,
    ) -> Pending[ExecutionResult]:
        """Runs one step. It takes what `Sandbox.run` takes. Giving it up ends the session."""
        execution_id = self.sandbox._with_id(options)
        callbacks = Callbacks(
            event=on_event,
            stdout=on_stdout,
            stderr=on_stderr,
            log=on_log,
            intermediate=on_intermediate,
            display=on_display,
        )
        if callbacks:
            return Pending(lambda: self._step_telling(request(script, **options), callbacks, execution_id))
        return Pending(lambda: self._step(request(script, **options), execution_id))

    async def _step(self, asked: Request, execution_id: Optional[str]) -> ExecutionResult:
        session = await self._open()
        if execution_id is None:
            return read_result(await Native(session.step(*asked)))
        callers.add(execution_id, await is_async)
        try:
            return read_result(await Native(session.step(*asked)))
        finally:
            callers.remove(execution_id)

    async def _step_telling(
        self, asked: Request, callbacks: Callbacks, execution_id: Optional[str]
    ) -> ExecutionResult:
        execution = self._stream(asked, execution_id)
        try:
            async for event in execution._read():
                await callbacks.tell(event)
        finally:
            execution.close()
        return execution._ended()

    def stream(self, script: Script, **options: Any) -> Execution:
        """Like `step`, read event by event."""
        execution_id = self.sandbox._with_id(options)
        return self._stream(request(script, **options), execution_id)

    def _stream(self, asked: Request, execution_id: Optional[str]) -> Execution:
        async def begin() -> _belljar.Execution:
            return (await self._open()).stream(*asked)

        return Execution(begin, execution_id)

    @property
    def is_alive(self) -> bool:
        """Whether another step can be run. Not after one that crashed, was killed or was given up."""
        return not self._is_closed and (self._opened is None or self._opened.is_alive())

    def interrupt(self) -> None:
        """Ctrl-C for the step in progress. The variables stay."""
        if self._opened is not None:
            self._opened.interrupt()

    def cancel(self) -> None:
        """Kills the step in progress, and the session with it."""
        if self._opened is not None:
            self._opened.cancel()

    def variables(self) -> Pending[list[Variable]]:
        """The variables so far. Nothing of the session runs for it."""

        async def work() -> list[Variable]:
            return [Variable(*each) for each in await Native((await self._open()).variables())]

        return Pending(work)

    def complete(self, line: str) -> Pending[list[str]]:
        """How the last name of a line of Python can go on."""

        async def work() -> list[str]:
            _, matches = await Native((await self._open()).complete(line))
            return list(matches)

        return Pending(work)

    def renew(self) -> Pending[None]:
        """Begins anew: no variable and no file of the steps so far is there. The session keeps its
        place, so nobody who waits for a cell comes between."""

        async def work() -> None:
            await Native((await self._open()).renew())

        return Pending(work)

    def close(self) -> Pending[None]:
        """Destroys the cell. A step in progress is killed."""

        async def work() -> None:
            self._is_closed = True
            opened, self._opened = self._opened, None
            if opened is not None:
                await Native(opened.close())

        return Pending(work)

    def __enter__(self) -> Session:
        return self.open().wait()

    def __exit__(self, *_: object) -> None:
        self.close().wait()

    async def __aenter__(self) -> Session:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Session of {self.sandbox!r}, {'alive' if self.is_alive else 'over'}>"


class SessionFiles:
    """The files of a session, between two steps."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, path: str, content: Content) -> Pending[None]:
        """Puts text, bytes, or a file or directory of this machine (a `Path`) into the workspace."""
        given = content.encode() if isinstance(content, str) else content
        data: Union[bytes, Path] = given if isinstance(given, bytes) else Path(given).absolute()

        async def work() -> None:
            await Native((await self._session._open()).put(path, data))

        return Pending(work)

    def read(self, path: str, most: int = _MOST_BYTES) -> Pending[bytes]:
        """A file's bytes, unless there are more than `most`."""

        async def work() -> bytes:
            content: bytes = await Native((await self._session._open()).read(path, most))
            return content

        return Pending(work)

    def list(self) -> Pending[list[FileEntry]]:
        """What is in the workspace, by path."""

        async def work() -> list[FileEntry]:
            return [FileEntry(*each) for each in await Native((await self._session._open()).list())]

        return Pending(work)
