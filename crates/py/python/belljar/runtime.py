"""An engine, its pool and its secrets."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _dispatch, _pending
from ._native import is_there, native
from ._pending import Native, Pending
from .config import SandboxConfig, make_config

if TYPE_CHECKING:
    from . import _belljar
    from .sandbox import Sandbox
    from .workspace import Workspace, Workspaces

__all__ = ["Protection", "Runtime", "command", "default_runtime"]

StrPath = Union[str, "os.PathLike[str]"]


class Protection:
    """What the engine can do here about one danger."""

    def __init__(self, name: str, state: str, detail: str, remedy: str) -> None:
        self.name, self.state, self.detail, self.remedy = name, state, detail, remedy

    def __repr__(self) -> str:
        return f"<{self.name} {self.state}: {self.detail}>"


class Runtime:
    """An engine, its pool and its secrets. Sandboxes of one runtime share what is warm.

    Most programs need none: `belljar.run` and `Sandbox()` use a default one, which has the native
    engine and no secrets. `engine` is `"native"`, `"docker"` or `"local"`; without it
    `$BELLJAR_ENGINE` counts, else native.

    >>> with Runtime(secrets={"API_KEY": "hunter2-hunter2"}) as runtime:
    ...     sandbox = runtime.sandbox(secrets=["API_KEY"])
    ...     sandbox.run("import os; print(os.environ['API_KEY'])").wait().stdout
    '***\\n'
    """

    def __init__(
        self,
        engine: Optional[str] = None,
        *,
        secrets: Optional[Mapping[str, str]] = None,
        secrets_from_env: bool = False,
        max_overflow: int = 10,
        max_templates: Optional[int] = None,
        keep_warm: Optional[float] = None,
        checkout_timeout: Optional[float] = None,
        python: Optional[StrPath] = None,
        cache_dir: Optional[StrPath] = None,
        move_processes: Optional[bool] = None,
        docker_host: Optional[str] = None,
        host_path_map: Optional[Mapping[str, str]] = None,
        max_uses: Optional[int] = None,
        proxy_program: Optional[StrPath] = None,
    ) -> None:
        self.engine = engine or os.environ.get("BELLJAR_ENGINE") or "native"
        if self.engine == "docker" and proxy_program is None:
            proxy_program = os.environ.get("BELLJAR_PROXY_PROGRAM") or command()
        self._options: dict[str, Any] = {
            "secrets": dict(secrets or {}),
            "secrets_from_env": secrets_from_env,
            "max_overflow": max_overflow,
            "max_templates": max_templates,
            "keep_warm": keep_warm,
            "checkout_timeout": checkout_timeout,
            "python": python,
            "cache_dir": cache_dir,
            "move_processes": move_processes,
            "docker_host": docker_host,
            "host_path_map": dict(host_path_map) if host_path_map else None,
            "max_uses": max_uses,
            "proxy_program": proxy_program,
        }
        self._opened: Optional[_belljar.Runtime] = None
        self._is_shut_down = False

    async def _open(self) -> _belljar.Runtime:
        """The native runtime. Two who open it at once both get the first."""
        if self._opened is None:
            opened: _belljar.Runtime = await Native(native.Runtime.open(self.engine, self._options))
            if self._opened is None:
                self._opened = opened
        return self._opened

    def open(self) -> Pending[Runtime]:
        """Opens the engine now. Otherwise it is opened when it is first needed."""

        async def work() -> Runtime:
            await self._open()
            return self

        return Pending(work)

    def sandbox(
        self, config: Union[SandboxConfig, str, None] = None, *, tools: Any = None, **values: Any
    ) -> Sandbox:
        """A sandbox of this runtime. It takes what `Sandbox` takes."""
        from .sandbox import Sandbox

        return Sandbox(config, tools=tools, runtime=self, **values)

    def workspaces(
        self, store: Optional[StrPath] = None, config: Union[SandboxConfig, str, None] = None, **values: Any
    ) -> Workspaces:
        """The workspaces of a directory."""
        from .workspace import Workspaces

        return Workspaces(store, config=make_config(config, **values), runtime=self)

    def workspace(self, id: str, **values: Any) -> Workspace:
        """The workspace of that id, among those of this user."""
        return self.workspaces(**values).workspace(id)

    def protections(self) -> Pending[list[Protection]]:
        """What the engine can enforce here."""

        async def work() -> list[Protection]:
            return [Protection(*each) for each in (await self._open()).protections()]

        return Pending(work)

    def describe(self) -> Pending[str]:
        """The engine's name, with what is worth knowing about it here."""

        async def work() -> str:
            return (await self._open()).describe_engine()

        return Pending(work)

    def shutdown(self, grace: Optional[float] = None) -> Pending[None]:
        """Ends every cell, and waits until they are gone. Runs may finish within `grace` seconds."""

        async def work() -> None:
            self._is_shut_down = True
            if self._opened is not None:
                await Native(self._opened.shutdown(grace))

        return Pending(work)

    def __enter__(self) -> Runtime:
        return self.open().wait()

    def __exit__(self, *_: object) -> None:
        self.shutdown().wait()

    async def __aenter__(self) -> Runtime:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    def __repr__(self) -> str:
        return f"<Runtime engine={self.engine!r}>"


_lock = threading.Lock()
_default: Optional[Runtime] = None


def default_runtime() -> Runtime:
    """The runtime of those who name none. It is opened when it is first used, and ends with the
    interpreter."""
    global _default
    with _lock:
        if _default is None or _default._is_shut_down:
            _default = Runtime()
        return _default


def command() -> Optional[Path]:
    """The `belljar` command: the native module, which can be run, or another in the `PATH`."""
    here = Path(native.__file__) if is_there() else None
    if here is not None and os.access(here, os.X_OK):
        return here
    found = shutil.which("belljar")
    return Path(found) if found else None


def _after_fork() -> None:
    """In a forked child: cells and threads stayed with the parent."""
    global _default, _lock
    _lock = threading.Lock()
    _default = None
    _pending.forget_background_loop()
    _dispatch.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
if is_there():
    atexit.register(native.shutdown_all)
