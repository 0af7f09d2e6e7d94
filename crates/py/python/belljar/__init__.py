"""Belljar runs code that a language model wrote: each time in a fresh sandbox, and honest about how it
ended.

    import belljar

    belljar.run("print(1 + 1)").stdout                      # '2\\n'
    await belljar.arun("chart.py", files={"sales.csv": path}, collect=["*.png"])

    async with belljar.Sandbox(dependencies=["pandas"]) as sandbox:
        result = await sandbox.run(script)
        async for event in sandbox.stream(script): ...
        async with sandbox.session() as session:
            await session.step("x = 1")

Whatever takes time returns a `Pending`: `await` it, or call `wait()`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Optional

from . import errors
from ._pending import Pending
from .config import (
    ExecutionMode,
    FileResource,
    Injection,
    NetworkPolicy,
    ResourceLimits,
    SandboxConfig,
)
from .errors import BelljarError, ConfigError, Refused, SessionOver, Unavailable
from .events import Event
from .results import CollectedFile, Display, ExecutionResult, ScriptFailed, Usage
from .runtime import Runtime, default_runtime
from .sandbox import Execution, Sandbox, Script
from .session import Session
from .tools import Tool, ToolParameter, ToolRegistry, ToolResponse, progress, registry, tool

if TYPE_CHECKING:
    from .artifacts import Artifact, Artifacts
    from .executor import ScriptExecutor
    from .orchestrator import ToolExecutionResult, ToolOrchestrator
    from .pool import ManagedContainer, SandboxBuilder, SandboxPool
    from .workspace import Program, ProgramResult, Workspace, Workspaces

__version__ = "0.1.0"

__all__ = [
    "Artifact",
    "Artifacts",
    "BelljarError",
    "CollectedFile",
    "ConfigError",
    "Display",
    "Event",
    "Execution",
    "ExecutionMode",
    "ExecutionResult",
    "FileResource",
    "Injection",
    "ManagedContainer",
    "NetworkPolicy",
    "Pending",
    "Program",
    "ProgramResult",
    "Refused",
    "ResourceLimits",
    "Runtime",
    "Sandbox",
    "SandboxBuilder",
    "SandboxConfig",
    "SandboxPool",
    "ScriptExecutor",
    "ScriptFailed",
    "Session",
    "SessionOver",
    "Tool",
    "ToolExecutionResult",
    "ToolOrchestrator",
    "ToolParameter",
    "ToolRegistry",
    "ToolResponse",
    "Unavailable",
    "Usage",
    "Workspace",
    "Workspaces",
    "__version__",
    "arun",
    "default_runtime",
    "errors",
    "progress",
    "registry",
    "run",
    "shutdown",
    "stream",
    "tool",
]

# What not every program needs is imported when it is first asked for.
_LATER = {
    "Artifact": "artifacts",
    "Artifacts": "artifacts",
    "ManagedContainer": "pool",
    "Program": "workspace",
    "ProgramResult": "workspace",
    "SandboxBuilder": "pool",
    "SandboxPool": "pool",
    "ScriptExecutor": "executor",
    "ToolExecutionResult": "orchestrator",
    "ToolOrchestrator": "orchestrator",
    "Workspace": "workspace",
    "Workspaces": "workspace",
}

_CONFIG = frozenset(SandboxConfig.__dataclass_fields__) | {
    "allow_hosts",
    "config",
    "cpus",
    "memory_mb",
    "on_progress",
    "runtime",
    "tools",
}
# What a sandbox has for one caller alone.
_OWN = frozenset({"tools", "on_progress", "runtime"})
# A field of both a config and a request is a request's: it counts for this run.
_REQUEST = frozenset({"name", "env"})


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


# Sandboxes of the last calls: making one again would take longer than most scripts do.
_recent: OrderedDict[str, Sandbox] = OrderedDict()
_MOST_RECENT = 8


def _divided(options: dict[str, Any]) -> tuple[Sandbox, dict[str, Any]]:
    """What is for the sandbox, and what is for the run."""
    values = {name: options.pop(name) for name in _CONFIG.intersection(options) - _REQUEST}
    if not _OWN.isdisjoint(values):
        return Sandbox(values.pop("config", None), **values), options
    key = repr(sorted(values.items()))
    sandbox = _recent.get(key)
    # Another thread may have taken it off the list: then it is made again.
    if sandbox is None or sandbox._is_closed or sandbox.runtime is not default_runtime():
        sandbox = Sandbox(values.pop("config", None), **values)
        _recent[key] = sandbox
        while len(_recent) > _MOST_RECENT:
            try:
                _recent.popitem(last=False)
            except KeyError:
                break
    return sandbox, options


def run(script: Script, **options: Any) -> ExecutionResult:
    """Runs a script in a fresh sandbox, and waits for its result.

    `options` are those of `Sandbox.run` and the fields of a `SandboxConfig`. Sandboxes with the same
    fields share what is warm, so the second run takes about a millisecond.

    >>> import belljar
    >>> belljar.run("print(1 + 1)").stdout
    '2\\n'
    >>> belljar.run("import sys; sys.exit(3)").exit_code
    3
    >>> belljar.run("while True: pass", timeout=0.5).verdict
    'timeout_wall'
    """
    sandbox, options = _divided(options)
    return sandbox.run(script, **options).wait()


async def arun(script: Script, **options: Any) -> ExecutionResult:
    """The same for asynchronous code. Cancelling it kills the script."""
    sandbox, options = _divided(options)
    return await sandbox.run(script, **options)


def stream(script: Script, **options: Any) -> Execution:
    """Runs a script, and tells of what happens: with `for` or with `async for`.

    >>> import belljar
    >>> for event in belljar.stream("emit_intermediate('part', 1); emit_result(2)"):
    ...     print(event["type"], event.get("data"))
    intermediate 1
    final_result 2
    script_done None
    ended None
    """
    sandbox, options = _divided(options)
    return sandbox.stream(script, **options)


def shutdown(grace: Optional[float] = None) -> Pending[None]:
    """Ends the default runtime. The next use makes another."""
    return default_runtime().shutdown(grace)
