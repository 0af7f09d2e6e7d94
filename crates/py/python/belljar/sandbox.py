"""A config made ready, and what is run in it."""

from __future__ import annotations

import inspect
import io
import json
import logging
import math
import os
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Callable, Optional, Union

from ._dispatch import callers
from ._pending import Foreign, Native, OneCall, Pending, is_async
from .config import ExecutionMode, SandboxConfig, make_config
from .errors import BelljarError, Closed, Refused, StepUnderWay
from .events import Event, read_events
from .results import ExecutionResult, read_result
from .runtime import Runtime, default_runtime
from .tools import ToolRegistry

if TYPE_CHECKING:
    from . import _belljar
    from .session import Session

__all__ = ["Execution", "Sandbox", "request"]

log = logging.getLogger("belljar")

StrPath = Union[str, "os.PathLike[str]"]
Script = Union[str, "os.PathLike[str]"]
Content = Union[bytes, str, "os.PathLike[str]"]
InputFiles = Union[Mapping[str, Content], Sequence[StrPath]]
Callback = Callable[[Event], Union[None, object, Awaitable[object]]]
Request = tuple[str, Optional[dict[str, Any]]]


_NOBODY = (None,) * 6


class Callbacks:
    """Who hears of what. An exception of theirs is logged, and does not end the run."""

    def __init__(self, **by_type: Optional[Callback]) -> None:
        self.by_type = {kind: callback for kind, callback in by_type.items() if callback is not None}
        for kind, callback in self.by_type.items():
            if not callable(callback):
                raise TypeError(f"on_{kind} must be a function, not {callback!r:.80}")

    def __bool__(self) -> bool:
        return bool(self.by_type)

    async def tell(self, event: Event) -> None:
        """Tells of an event, and waits until it was heard: the run waits for slow listeners."""
        for kind in (event.type, "event"):
            callback = self.by_type.get(kind)
            if callback is None:
                continue
            try:
                heard = callback(event)
                if inspect.isawaitable(heard):
                    await Foreign(heard)
            except Exception:
                log.exception("a callback for %s failed", event.type)


def request(
    script: Script,
    *,
    args: Sequence[str] = (),
    stdin: Union[bytes, str, IO[bytes], IO[str], None] = None,
    files: Optional[InputFiles] = None,
    collect: Union[str, Sequence[str]] = (),
    collect_into: Optional[StrPath] = None,
    env: Optional[Mapping[str, str]] = None,
    timeout: Optional[float] = None,
    cpu_time: Optional[float] = None,
    max_output_bytes: Optional[int] = None,
    mode: Union[ExecutionMode, str, None] = None,
    name: Optional[str] = None,
    execution_id: Optional[str] = None,
    required_secrets: Sequence[str] = (),
) -> Request:
    """A request, as the native module takes it. `Sandbox.run` says what its parts mean."""
    text, its_name = _source(script)
    if isinstance(args, (str, bytes)):
        raise TypeError(f"args must be a list of words, not the text {args!r}")
    plain: dict[str, Any] = {"script": text}
    optional = {
        "args": [str(each) for each in args] or None,
        "collect": ([collect] if isinstance(collect, str) else list(collect)) or None,
        "env": dict(env) if env else None,
        "timeout": _number("timeout", timeout),
        "cpu_time": _number("cpu_time", cpu_time),
        "max_output_bytes": _number("max_output_bytes", max_output_bytes),
        "mode": ExecutionMode(mode).value if mode is not None else None,
        "name": name or its_name,
        "execution_id": execution_id,
        "required_secrets": list(required_secrets) or None,
    }
    plain.update((key, value) for key, value in optional.items() if value is not None)
    extra: dict[str, Any] = {}
    if files:
        extra["files"] = [_input(place, content) for place, content in _named(files)]
    if stdin is not None:
        extra["stdin"] = _stdin(stdin)
    if collect_into is not None:
        extra["collect_into"] = Path(collect_into)
    return json.dumps(plain), extra or None


def _number(name: str, value: Any) -> Any:
    """A number, or none. The native module says which numbers are too large or too small."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(value) or value < 0:
        raise Refused(f"{name} = {value} is invalid: must be a number, 0 or more")
    return value


def _stdin(given: Any) -> Any:
    """Bytes, or something to read bytes from."""
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    if isinstance(given, os.PathLike):
        return Path(given).read_bytes()
    if not callable(getattr(given, "read", None)):
        raise TypeError(f"stdin must be text, bytes, a Path or a file, not {given!r:.80}")
    return _Encoded(given) if isinstance(given, io.TextIOBase) else given


class _Encoded:
    """The bytes of a file of text."""

    def __init__(self, file: io.TextIOBase) -> None:
        self._file = file

    def read(self, count: int) -> bytes:
        # A character has at most four bytes.
        return self._file.read(max(1, count // 4)).encode()


def _source(script: Script) -> tuple[str, Optional[str]]:
    """A script's text, and the name of its file. A `str` is text and never a path: a model may have
    written it, and does not choose files of this machine."""
    if not isinstance(script, str):
        path = Path(script)
        return path.read_text(encoding="utf-8-sig"), path.name
    try:
        script.encode()
    except UnicodeEncodeError as error:
        line = script.count("\n", 0, error.start) + 1
        raise Refused(
            f"the script is not text: line {line} has half of a surrogate pair, {script[error.start]!r}"
        ) from None
    return script, None


def _named(files: InputFiles) -> list[tuple[str, Content]]:
    if isinstance(files, Mapping):
        return list(files.items())
    return [(PurePosixPath(os.fspath(each)).name, Path(each)) for each in files]


def _input(place: str, content: Content) -> tuple[str, Union[bytes, Path], bool]:
    """Text and bytes are what is in the file; a path is a file or directory of this machine."""
    if isinstance(content, str):
        return place, content.encode(), False
    if isinstance(content, (bytes, bytearray, memoryview)):
        return place, bytes(content), False
    return place, Path(content).absolute(), False


class Sandbox:
    """A config made ready: scripts run in it, each in a cell that has never run anything.

    It takes a `SandboxConfig`, or the fields of one. Some have shorter names: `allow_hosts`,
    `memory_mb`, `timeout`, `cpus`. It is made ready when it is first used, or on entering it.

    >>> with Sandbox(memory_mb=128, timeout=5) as sandbox:
    ...     sandbox.run("print(sum(range(10)))").wait().stdout
    '45\\n'
    """

    def __init__(
        self,
        config: Union[SandboxConfig, str, None] = None,
        *,
        tools: Any = None,
        runtime: Optional[Runtime] = None,
        on_progress: Optional[Callable[[str], object]] = None,
        **values: Any,
    ) -> None:
        self.runtime = runtime if runtime is not None else default_runtime()
        config = make_config(config, **values)
        self.tools = tools if isinstance(tools, ToolRegistry) or tools is None else ToolRegistry(tools)
        self.config = self.tools.equip(config) if self.tools is not None else config
        self._on_progress = on_progress
        self._built_tools: Any = None
        self._sandbox_name: Optional[str] = None
        self._opened: Optional[_belljar.Sandbox] = None
        self._is_closed = False

    @classmethod
    def of_registry(cls, registry: ToolRegistry, name: str, runtime: Runtime) -> Sandbox:
        """A sandbox of a registry, with its tools."""
        sandbox = cls(registry.config_for(name), runtime=runtime)
        sandbox.tools, sandbox._sandbox_name = registry, name
        return sandbox

    async def _open(self) -> _belljar.Sandbox:
        if self._is_closed:
            raise Closed(f"sandbox `{self.config.name}` is closed: make another")
        if self._opened is None:
            runtime = await self.runtime._open()
            tools = self.tools.build(self._sandbox_name) if self.tools is not None else None
            call = runtime.sandbox(self.config.to_json(), tools, self._on_progress)
            opened: _belljar.Sandbox = await Native(call)
            if self._opened is None:
                self._opened = opened
        return self._opened

    def open(self) -> Pending[Sandbox]:
        """Makes it ready now."""

        async def work() -> Sandbox:
            await self._open()
            return self

        return Pending(work)

    def _with_id(self, options: dict[str, Any]) -> Optional[str]:
        """Names an execution whose tools must find its caller."""
        if self.tools is None:
            return None
        options["execution_id"] = options.get("execution_id") or uuid.uuid4().hex
        return str(options["execution_id"])

    def run(
        self,
        script: Script,
        *,
        within: Optional[float] = None,
        on_event: Optional[Callback] = None,
        on_stdout: Optional[Callback] = None,
        on_stderr: Optional[Callback] = None,
        on_log: Optional[Callback] = None,
        on_intermediate: Optional[Callback] = None,
        on_display: Optional[Callback] = None,
        **options: Any,
    ) -> Pending[ExecutionResult]:
        """Runs a script in a cell of its own.

        `script` is Python source; a `Path` is a file of this machine that has it. `options` may have:

        * `args`: what the script finds in `sys.argv`; `stdin`: text, bytes or a file; `env`: variables.
        * `files`: what is in its directory, by name: text, bytes, or a `Path` of this machine.
        * `collect`: which files it leaves are in the result, as patterns; `collect_into`: a directory
          that they are written to.
        * `timeout`, `cpu_time`: seconds; `max_output_bytes`. `mode`: see `ExecutionMode`.
        * `name`: the script's file name; `execution_id`; `required_secrets`.

        `within` is a limit on the wait for a cell and the script together, in seconds. Callbacks get an
        `Event`, and may be `async def`. The run waits for slow ones. If one fails, that is logged.
        """
        execution_id = self._with_id(options)
        callbacks = None
        listeners = (on_event, on_stdout, on_stderr, on_log, on_intermediate, on_display)
        if listeners != _NOBODY:
            kinds = ("event", "stdout", "stderr", "log", "intermediate", "display")
            callbacks = Callbacks(**dict(zip(kinds, listeners)))
        if callbacks:
            return Pending(
                lambda: self._run_telling(request(script, **options), within, callbacks, execution_id)
            )

        def call() -> Optional[_belljar.Call]:
            opened = self._opened
            if opened is None or self._is_closed or execution_id is not None:
                return None
            if not options and type(script) is str:
                # Most have nothing else.
                return opened.run(json.dumps({"script": _source(script)[0]}), None, within)
            return opened.run(*request(script, **options), within)

        return OneCall(lambda: self._run(request(script, **options), within, execution_id), call, read_result)

    async def _run(
        self, asked: Request, within: Optional[float], execution_id: Optional[str]
    ) -> ExecutionResult:
        sandbox = self._opened if self._opened is not None and not self._is_closed else await self._open()
        if execution_id is None:
            return read_result(await Native(sandbox.run(*asked, within)))
        callers.add(execution_id, await is_async)
        try:
            return read_result(await Native(sandbox.run(*asked, within)))
        finally:
            callers.remove(execution_id)

    async def _run_telling(
        self, asked: Request, within: Optional[float], callbacks: Callbacks, execution_id: Optional[str]
    ) -> ExecutionResult:
        execution = self._stream(asked, within, execution_id)
        try:
            async for event in execution._read():
                await callbacks.tell(event)
        finally:
            execution.close()
        return execution._ended()

    def stream(self, script: Script, *, within: Optional[float] = None, **options: Any) -> Execution:
        """Like `run`, read event by event: with `for` or with `async for`."""
        execution_id = self._with_id(options)
        return self._stream(request(script, **options), within, execution_id)

    def _stream(self, asked: Request, within: Optional[float], execution_id: Optional[str]) -> Execution:
        async def begin() -> _belljar.Execution:
            return (await self._open()).stream(*asked, within)

        return Execution(begin, execution_id)

    def session(self) -> Session:
        """A cell for several steps that share their variables."""
        from .session import Session

        return Session(sandbox=self)

    def warm(self, count: int) -> Pending[None]:
        """Makes cells ready ahead of need."""

        async def work() -> None:
            await Native((await self._open()).warm(count))

        return Pending(work)

    def describe_tools(self) -> Pending[dict[str, Any]]:
        """What a model should know of its tools: `prompt`, `stubs`, `openai`, `anthropic`, `mcp`."""

        async def work() -> dict[str, Any]:
            return json.loads(await Native((await self._open()).describe_tools()))  # type: ignore[no-any-return]

        return Pending(work)

    def close(self) -> Pending[None]:
        """Ends its runs. It ends at once, unless another sandbox of the same config is open."""

        async def work() -> None:
            self._is_closed = True
            opened, self._opened = self._opened, None
            if opened is not None:
                await Native(opened.close())

        return Pending(work)

    @property
    def warnings(self) -> list[str]:
        """What is worth knowing about making it ready."""
        return self._opened.report()[3] if self._opened is not None else []

    def __enter__(self) -> Sandbox:
        return self.open().wait()

    def __exit__(self, *_: object) -> None:
        self.close().wait()

    async def __aenter__(self) -> Sandbox:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Sandbox {self.config.name!r} on {self.runtime.engine}>"


class Execution:
    """A script in progress: its events, with `for` or with `async for`, then its result.

    Leaving it behind kills the script: use it in a `with` or an `async with` block where it may be
    left early.

    >>> import belljar
    >>> execution = belljar.stream("print('a')")
    >>> [event.text for event in execution if event.type == "stdout"]
    ['a\\n']
    >>> execution.result().wait().verdict
    'ok'
    """

    def __init__(
        self,
        begin: Callable[[], Coroutine[Any, Any, _belljar.Execution]],
        execution_id: Optional[str] = None,
    ) -> None:
        self._begin = begin
        self._execution_id = execution_id
        self._execution: Optional[_belljar.Execution] = None
        self._events: deque[Event] = deque()
        # Events before this one have arrived. Others are kept for whoever gave up waiting for them.
        self._confirmed = 0
        self._is_read = self._is_listed = self._is_cancelled = False
        self._is_over = False
        self._result: Optional[ExecutionResult] = None

    async def _next(self) -> Optional[Event]:
        """The next event. `None` after the last."""
        if self._events:
            return self._events.popleft()
        if self._is_read:
            raise StepUnderWay("somebody else reads the events of this run")
        self._is_read = True
        try:
            return await self._read_on()
        finally:
            self._is_read = False

    async def _read_on(self) -> Optional[Event]:
        while not self._events:
            if self._is_over:
                return None
            if self._execution is None:
                await self._start()
            assert self._execution is not None
            batch = read_events(await Native(self._execution.next(self._confirmed)))
            if batch:
                self._confirmed = batch[-1]["seq"] + 1
            if not batch or batch[-1].type == "ended":
                self._finish(batch[-1].result if batch else None)
            self._events.extend(batch)
        return self._events.popleft()

    async def _start(self) -> None:
        if self._execution_id is not None:
            callers.add(self._execution_id, await is_async)
            self._is_listed = True
        try:
            self._execution = await self._begin()
        except BaseException:
            self._finish(None)
            raise
        if self._is_cancelled:
            self._execution.cancel()

    async def _read(self) -> AsyncIterator[Event]:
        while True:
            event = await self._next()
            if event is None:
                return
            yield event

    def _finish(self, result: Optional[ExecutionResult]) -> None:
        if not self._is_over:
            self._is_over, self._result = True, result
            if self._is_listed and self._execution_id is not None:
                callers.remove(self._execution_id)
            self._execution = None

    def _ended(self) -> ExecutionResult:
        if self._result is None:
            raise BelljarError("the run was given up, and has no result")
        return self._result

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        event = Pending(self._next).wait()
        if event is None:
            raise StopIteration
        return event

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._events:
            return self._events.popleft()
        event = await Pending(self._next)
        if event is None:
            raise StopAsyncIteration
        return event

    def result(self) -> Pending[ExecutionResult]:
        """The result, once the script is over. Events that were not read are passed over."""

        async def work() -> ExecutionResult:
            while not self._is_over:
                self._events.clear()
                await self._next()
            return self._ended()

        return Pending(work)

    def cancel(self) -> None:
        """Kills the script. Its result says so, and has what it said so far."""
        self._is_cancelled = True
        if self._execution is not None:
            self._execution.cancel()

    def interrupt(self) -> None:
        """Raises `KeyboardInterrupt` in the script, as Ctrl-C would."""
        if self._execution is not None:
            self._execution.interrupt()

    def close(self) -> None:
        """Kills the script, if it still runs."""
        self._finish(None)

    def __enter__(self) -> Execution:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Execution:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._is_over and self._execution is not None:
            self._finish(None)
