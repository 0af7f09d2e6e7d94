"""Warm sandboxes by the names of a registry, checked out one at a time.

pool = SandboxPool(registry=registry, builder=SandboxBuilder(registry))
await pool.startup()
async with pool.checkout("default") as container:
    result = await ScriptExecutor().run(container, "emit_result(1)")
await pool.shutdown()
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Optional, Union

from ._pending import Native, Pending
from .config import ExecutionMode
from .errors import CheckoutTimeout, Closed
from .runtime import Runtime
from .sandbox import Execution, Sandbox
from .session import Session
from .tools import ToolRegistry

__all__ = ["ManagedContainer", "SandboxBuilder", "SandboxPool"]


class SandboxBuilder:
    """Makes the sandboxes of a registry ready: packages installed, images built, nothing twice."""

    def __init__(self, registry: ToolRegistry, *, runtime: Optional[Runtime] = None) -> None:
        self.registry = registry
        self.runtime = runtime

    def checksum(self, sandbox_name: str) -> str:
        """Changes with whatever a sandbox would have to be made again for."""
        config = self.registry.config_for(sandbox_name)
        told = [config.to_dict(), self.registry.sandbox_checksum(sandbox_name)]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    def ensure_sandbox(self, sandbox_name: str) -> Pending[str]:
        """Makes a sandbox ready, and gives a name that changes with whatever is in it."""

        async def work() -> str:
            runtime = self.runtime if self.runtime is not None else Runtime()
            sandbox = Sandbox.of_registry(self.registry, sandbox_name, runtime)
            await sandbox._open()
            return f"belljar-{sandbox_name}:{self.checksum(sandbox_name)}"

        return Pending(work)


class ManagedContainer:
    """A sandbox that was checked out: nobody else has it until it is given back.

    In PLAN mode every run in it is fresh. Steps in INTERACTIVE mode share their variables until it is
    given back.
    """

    def __init__(self, sandbox: Sandbox, session: Session) -> None:
        self.sandbox = sandbox
        self.sandbox_name = sandbox.config.name
        self.use_count = 0
        self._session = session
        self._is_fresh = True
        self._place: Optional[str] = None
        self._line = _Line(self)
        self.stdin_pipe = StdinPipe(self._line)
        self.stdout_pipe = StdoutPipe(self._line)

    @property
    def container_id(self) -> str:
        """A container's id, where there are containers; otherwise a name of the same length."""
        if self._place:
            return self._place
        return hashlib.sha256(f"{id(self)}:{id(self._session)}".encode()).hexdigest()

    async def session_for(self, mode: ExecutionMode) -> Session:
        """Where the next script runs: in a cell that has run nothing, unless it is a step."""
        if (self._is_fresh or mode is ExecutionMode.INTERACTIVE) and self._session.is_alive:
            self._is_fresh = False
            self.use_count += 1
            return self._session
        opened = self._session._opened
        if opened is not None and self._session.is_alive:
            # Its place stays its own, whoever waits for one.
            await Native(opened.renew())
        else:
            await self._give_back()
            self._session = self.sandbox.session()
            await self._session._open()
        self._is_fresh = False
        self.use_count += 1
        return self._session

    async def _give_back(self) -> None:
        opened, self._session._opened = self._session._opened, None
        self._session._is_closed = True
        if opened is not None:
            await Native(opened.close())

    def __repr__(self) -> str:
        return f"<ManagedContainer {self.container_id[:12]} sandbox={self.sandbox_name!r}>"


class _Checkout:
    """Takes a sandbox on entering, and gives it back on leaving."""

    def __init__(self, pool: SandboxPool, sandbox_name: str, timeout: Optional[float]) -> None:
        self._pool, self._name, self._timeout = pool, sandbox_name, timeout
        self._container: Optional[ManagedContainer] = None

    def _enter(self) -> Pending[ManagedContainer]:
        async def work() -> ManagedContainer:
            self._container = await self._pool._take(self._name)
            return self._container

        return Pending(work)

    def _leave(self) -> Pending[None]:
        async def work() -> None:
            container, self._container = self._container, None
            if container is not None:
                await container._give_back()
                self._pool._containers.discard(container)

        return Pending(work)

    async def __aenter__(self) -> ManagedContainer:
        if self._timeout is None:
            return await self._enter()

        async def entered() -> ManagedContainer:
            return await self._enter()

        try:
            return await asyncio.wait_for(entered(), self._timeout)
        except asyncio.TimeoutError:
            raise CheckoutTimeout(f"no cell of {self._name!r} came free within {self._timeout} s") from None

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self._leave()

    def __enter__(self) -> ManagedContainer:
        return self._enter().wait()

    def __exit__(self, *_: object) -> None:
        self._leave().wait()


class SandboxPool:
    """Warm sandboxes of a registry.

    `pool_size` of a config says how many cells are kept ready, `max_overflow` how many more there may
    be. Who comes then waits in line, first come, first served. `host_path_map` is for Docker out of a
    container: what this process's paths are called on the daemon's host.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        builder: Optional[SandboxBuilder] = None,
        secrets: Optional[Mapping[str, str]] = None,
        max_overflow: int = 10,
        host_path_map: Optional[Mapping[str, str]] = None,
        *,
        engine: Optional[str] = None,
        **options: Any,
    ) -> None:
        self.registry = registry
        self.builder = builder if builder is not None else SandboxBuilder(registry)
        self.runtime = Runtime(
            engine,
            secrets=secrets,
            # As the seeds have it: a name without a value here is looked up in the environment.
            secrets_from_env=True,
            max_overflow=max_overflow,
            host_path_map=host_path_map,
            **options,
        )
        if self.builder.runtime is None:
            self.builder.runtime = self.runtime
        self._sandboxes: dict[str, Sandbox] = {}
        self._containers: set[ManagedContainer] = set()
        self._is_shut_down = False

    def startup(self, sandbox_names: Union[Iterable[str], None] = None) -> Pending[None]:
        """Makes these sandboxes ready, or all that the registry has, with their cells warm."""

        async def work() -> None:
            names = list(sandbox_names) if sandbox_names is not None else self.registry.all_sandbox_names()
            for name in names:
                sandbox = Sandbox.of_registry(self.registry, name, self.runtime)
                opened = await sandbox._open()
                await Native(opened.warm(sandbox.config.pool_size))
                self._sandboxes[name] = sandbox

        return Pending(work)

    def checkout(self, sandbox_name: str = "default", *, timeout: Optional[float] = None) -> _Checkout:
        """Takes a sandbox, for an `async with` or a `with` block. With `timeout`, in seconds, an
        `asyncio.TimeoutError` says that none came free."""
        if self._is_shut_down:
            raise Closed("the pool is shut down: make another")
        if sandbox_name not in self._sandboxes:
            known = ", ".join(sorted(self._sandboxes)) or "none"
            raise ValueError(f"no pool for sandbox {sandbox_name!r}: startup() has made ready: {known}")
        return _Checkout(self, sandbox_name, timeout)

    async def _take(self, sandbox_name: str) -> ManagedContainer:
        sandbox = self._sandboxes[sandbox_name]
        session = sandbox.session()
        await session._open()
        container = ManagedContainer(sandbox, session)
        self._containers.add(container)
        return container

    def stats(self, sandbox_name: str = "default") -> dict[str, int]:
        """How many cells are `idle`, `in_use`, and how many there may be (`capacity`)."""
        sandbox = self._sandboxes[sandbox_name]
        idle, in_use, capacity = sandbox._opened.cells() if sandbox._opened is not None else (0, 0, 0)
        return {"idle": idle, "in_use": in_use, "capacity": capacity}

    def shutdown(self) -> Pending[None]:
        """Ends everything, also what is checked out, and waits until it is gone."""

        async def work() -> None:
            self._is_shut_down = True
            if self.runtime._opened is not None:
                await Native(self.runtime._opened.shutdown(None))

        return Pending(work)

    async def __aenter__(self) -> SandboxPool:
        await self.startup()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    def __repr__(self) -> str:
        return f"<SandboxPool {sorted(self._sandboxes)} on {self.runtime.engine}>"


class _Line:
    """The protocol of one line of JSON a request, and one a happening, for those who speak it."""

    def __init__(self, container: ManagedContainer) -> None:
        self.container = container
        self.requests: list[dict[str, Any]] = []
        self.execution: Optional[Execution] = None
        self.has_begun = False

    async def begin(self) -> None:
        while self.requests and self.execution is None:
            asked = self.requests.pop(0)
            mode = ExecutionMode(asked.get("mode") or self.container.sandbox.config.execution_mode)
            session = await self.container.session_for(mode)
            options = {
                name: asked[name]
                for name in ("execution_id", "timeout", "required_secrets")
                if asked.get(name) is not None
            }
            self.execution = session.stream(asked["script"], mode=mode, **options)

    async def readline(self) -> bytes:
        if not self.has_begun:
            self.has_begun = True
            return b'{"type": "ready"}\n'
        await self.begin()
        while self.execution is not None:
            event = await self.execution._next()
            if event is None or event.type == "ended":
                result, self.execution = self.execution._result, None
                if result is None or result.verdict in ("ok", "exception", "no_result", "exited"):
                    await self.begin()
                    continue
                if not self.container._session.is_alive and result.verdict in ("signaled", "oom"):
                    raise asyncio.IncompleteReadError(b"", None)
                told = {
                    "type": "error",
                    "execution_id": result.execution_id,
                    "message": result.error,
                    "traceback": result.traceback,
                }
                return json.dumps(told).encode() + b"\n"
            return json.dumps(event).encode() + b"\n"
        raise asyncio.IncompleteReadError(b"", None)


class StdinPipe:
    """Takes requests: one JSON object a line."""

    def __init__(self, line: _Line) -> None:
        self._line, self._rest = line, b""

    def write(self, data: bytes) -> None:
        """Takes bytes. A whole line is a request."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        self._line.requests.extend(json.loads(each) for each in whole if each.strip())

    async def drain(self) -> None:
        """Begins what was asked for."""
        await Pending(self._line.begin)


class StdoutPipe:
    """Gives what happens: one JSON object a line."""

    def __init__(self, line: _Line) -> None:
        self._line = line

    async def readline(self, timeout: Optional[float] = None) -> bytes:
        """The next line. An `asyncio.IncompleteReadError` says that the sandbox has crashed."""

        async def read() -> bytes:
            return await Pending(self._line.readline)

        return await asyncio.wait_for(read(), timeout)
