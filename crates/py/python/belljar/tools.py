"""Functions that scripts call: of this process, in the cell, or of MCP servers.

@tool                       runs here, and is called from the cell
@tool(where="guest")        its source is loaded in the cell, and runs there
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import hashlib
import inspect
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Literal, Optional, TypeVar, Union, overload

from ._dispatch import Dispatch, current_reply
from ._native import native
from ._schema import Described, describe
from .config import SandboxConfig
from .errors import ToolError

__all__ = [
    "RegisteredTool",
    "Tool",
    "ToolParameter",
    "ToolRegistry",
    "ToolResponse",
    "progress",
    "registry",
    "tool",
]

F = TypeVar("F", bound=Callable[..., Any])
Where = Literal["host", "guest"]


@dataclasses.dataclass
class ToolParameter:
    """One parameter of a tool, where type hints do not say it."""

    name: str
    type: str = "any"
    """As Python writes the type: `str`, `list[int]`, `dict`."""
    description: Optional[str] = None
    default: Any = None
    required: bool = False
    options: Optional[list[Any]] = None
    examples: Optional[list[Any]] = None
    source: str = "all"
    display_name: Optional[str] = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return dataclasses.asdict(self)

    def described(self) -> dict[str, Any]:
        """As a tool's description has it."""
        told: dict[str, Any] = {
            "name": self.name,
            "kind": self.type,
            "description": self.description or "",
            "required": self.required,
            "options": self.options or [],
            "examples": self.examples or [],
        }
        if not self.required:
            told.update(default=self.default, nullable=self.default is None)
        return told


@dataclasses.dataclass
class ToolResponse:
    """What a tool answers. A script gets one, too, for every call of a tool of this process."""

    success: bool
    message: Optional[str] = None
    data: Any = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return dataclasses.asdict(self)


@dataclasses.dataclass
class Tool:
    """What a tool is called, what it does, and what it takes."""

    name: str
    description: str
    parameters: list[ToolParameter] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return dataclasses.asdict(self)


@dataclasses.dataclass
class RegisteredTool:
    """Everything that is known about a tool."""

    tool: Tool
    fn: Callable[..., Any]
    where: Where
    described: Described
    source: Optional[str] = None
    dependencies: list[str] = dataclasses.field(default_factory=list)
    secrets: list[str] = dataclasses.field(default_factory=list)
    sandbox_name: str = "default"
    raises: bool = False
    timeout: Optional[float] = None
    concurrency: Optional[int] = None
    budget: Optional[int] = None
    declared: list[ToolParameter] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        """The name by which scripts call it."""
        return self.tool.name

    @property
    def checksum(self) -> str:
        """Changes with whatever a sandbox would have to be made again for."""
        told = json.dumps([self.to_dict(), self.source], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Its description, as every surface of Belljar writes it."""
        parameters = [each.described() for each in self.declared] or [
            each.to_dict() for each in self.described.parameters
        ]
        return {
            "name": self.name,
            "description": self.tool.description,
            "parameters": parameters,
            "secrets": self.secrets,
            "sandbox": self.sandbox_name,
            "failure": "exception" if self.raises else "response",
        }

    def forms(self) -> dict[str, Any]:
        """What a model reads of it: `prompt`, `stubs`, `openai`, `anthropic`, `mcp`."""
        return json.loads(native.describe_tool(json.dumps(self.to_dict())))  # type: ignore[no-any-return]

    def call(self, arguments: Mapping[str, Any]) -> Any:
        """Calls it, with arguments from JSON."""
        return self.described.call(self.fn, arguments)


class ToolRegistry:
    """Tools, and the sandboxes that they belong to.

    >>> tools = ToolRegistry()
    >>> @tools.tool
    ... def area(width: float, height: float) -> float:
    ...     "The area of a rectangle."
    ...     return width * height
    >>> import belljar
    >>> belljar.run("print(area(2, 3).data)", tools=tools).stdout
    '6.0\\n'
    """

    def __init__(self, tools: Iterable[Any] = ()) -> None:
        self._tools: dict[str, RegisteredTool] = {}
        self._sandboxes: dict[str, SandboxConfig] = {"default": SandboxConfig()}
        self._files: list[Path] = []
        self._servers: list[tuple[str, dict[str, str]]] = []
        for each in tools:
            self.add(each)

    @classmethod
    def get_default(cls) -> ToolRegistry:
        """The registry that `@tool` puts tools into."""
        return registry

    def register(self, registered: RegisteredTool) -> None:
        """Adds a tool. One of the same name is replaced."""
        self._tools[registered.name] = registered

    def add(self, function: Any, **options: Any) -> ToolRegistry:
        """Adds a function, or one that `@tool` was put on."""
        if isinstance(function, RegisteredTool):
            self.register(function)
            return self
        known: Optional[RegisteredTool] = getattr(function, "_registered_tool", None)
        self.register(_registered(function, **options) if known is None or options else known)
        return self

    def guest(self, path: Union[str, os.PathLike[str]]) -> ToolRegistry:
        """Adds the functions of a Python file, or of all such files in a directory. They run in the cell."""
        self._files.append(Path(path))
        return self

    def mcp(self, server: str, env: Optional[Mapping[str, str]] = None) -> ToolRegistry:
        """Adds the tools of an MCP server: an address, or a command. `name=` before it names it."""
        self._servers.append((server, dict(env or {})))
        return self

    @overload
    def tool(self, function: F) -> F: ...
    @overload
    def tool(self, function: Optional[str] = None, **options: Any) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, **options: Any) -> Any:
        """A decorator: the same as `belljar.tool`, for this registry."""
        return tool(function, _registry=self, **options)

    def register_sandbox(self, config: SandboxConfig) -> None:
        """Adds a sandbox, by its name."""
        self._sandboxes[config.name] = config

    def get(self, name: str) -> Optional[RegisteredTool]:
        """A tool by its name."""
        return self._tools.get(name)

    def get_sandbox(self, name: str) -> Optional[SandboxConfig]:
        """A sandbox by its name."""
        return self._sandboxes.get(name)

    def all_tools(self) -> list[RegisteredTool]:
        """All tools."""
        return list(self._tools.values())

    def all_sandbox_names(self) -> list[str]:
        """The names of all sandboxes."""
        return list(self._sandboxes)

    def tools_for_sandbox(self, sandbox_name: str) -> list[RegisteredTool]:
        """The tools of a sandbox."""
        return [each for each in self._tools.values() if each.sandbox_name == sandbox_name]

    def aggregate_dependencies(self, sandbox_name: str) -> list[str]:
        """The packages of a sandbox and of its tools, each once."""
        return list(dict.fromkeys(self._of(sandbox_name, "dependencies")))

    def aggregate_secrets(self, sandbox_name: str) -> list[str]:
        """The secrets of a sandbox and of its tools, each once."""
        return list(dict.fromkeys(self._of(sandbox_name, "secrets")))

    def _of(self, sandbox_name: str, what: str) -> list[str]:
        config = self._sandboxes.get(sandbox_name)
        found: list[str] = list(getattr(config, what)) if config else []
        for each in self.tools_for_sandbox(sandbox_name):
            found.extend(getattr(each, what))
        return found

    def sandbox_checksum(self, sandbox_name: str) -> str:
        """Changes when a tool or a dependency of the sandbox does."""
        told = [
            each.checksum for each in sorted(self.tools_for_sandbox(sandbox_name), key=lambda it: it.name)
        ]
        config = self._sandboxes.get(sandbox_name)
        everything = [told, self.aggregate_dependencies(sandbox_name), config and config.to_dict()]
        return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()[:16]

    def build_tools_prompt(self, sandbox_name: Optional[str] = None) -> str:
        """What a model should read about the tools."""
        found = self.all_tools() if sandbox_name is None else self.tools_for_sandbox(sandbox_name)
        ordered = sorted(found, key=lambda each: each.name)
        return "\n\n".join(str(each.forms()["prompt"]) for each in ordered)

    def config_for(self, sandbox_name: str) -> SandboxConfig:
        """A sandbox's config, with what its guest tools need."""
        config = self._sandboxes.get(sandbox_name)
        if config is None:
            known = ", ".join(sorted(self._sandboxes))
            raise ValueError(f"no sandbox is registered as {sandbox_name!r}; there are: {known}")
        return self.equip(config, self.tools_for_sandbox(sandbox_name))

    def equip(self, config: SandboxConfig, tools: Optional[Sequence[RegisteredTool]] = None) -> SandboxConfig:
        """A config, with what guest tools need: packages, and secrets."""
        guests = [each for each in (self.all_tools() if tools is None else tools) if each.where == "guest"]
        if not guests:
            return config
        secrets = [name for each in guests for name in each.secrets]
        packages = [package for each in guests for package in each.dependencies]
        config = config.with_tool_dependencies(packages)
        return dataclasses.replace(config, secrets=list(dict.fromkeys([*config.secrets, *secrets])))

    def build(self, sandbox_name: Optional[str] = None) -> Optional[Any]:
        """The tools, as the native module has them. `None` if there are none."""
        found = self.all_tools() if sandbox_name is None else self.tools_for_sandbox(sandbox_name)
        if not (found or self._files or self._servers):
            return None
        dispatch = Dispatch()
        built = native.Tools(dispatch)
        sources: list[str] = []
        for each in found:
            if each.where == "guest":
                sources.append(each.source or "")
            else:
                dispatch.functions[each.name] = each.call
                bounds = {"timeout": each.timeout, "concurrency": each.concurrency, "budget": each.budget}
                built.add_host(json.dumps(each.to_dict()), bounds)
        if sources:
            built.add_guest("belljar_tools.py", _GUEST_HEAD + "\n\n".join(sources) + "\n")
        for path in self._files:
            for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
                built.add_guest(file.name, file.read_text(encoding="utf-8"))
        for server, env in self._servers:
            built.add_mcp(server, sorted(env.items()))
        return built

    def __len__(self) -> int:
        return len(self._tools)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<ToolRegistry tools={sorted(self._tools)} sandboxes={sorted(self._sandboxes)}>"


# What a guest tool's source may name without importing it, as its module does on this side.
_GUEST_HEAD = """\
from __future__ import annotations

import asyncio
import datetime
import json
import math
import os
import re
import time
import uuid
from typing import *

"""

registry = ToolRegistry()
"""The registry that `@tool` puts tools into, unless it is told otherwise."""


@overload
def tool(function: F) -> F: ...
@overload
def tool(
    function: Optional[str] = None,
    parameters: Optional[Sequence[ToolParameter]] = None,
    dependencies: Optional[Sequence[str]] = None,
    secrets: Optional[Sequence[str]] = None,
    sandbox: str = "default",
    name: Optional[str] = None,
    *,
    description: Optional[str] = None,
    where: Optional[Where] = None,
    raises: bool = False,
    timeout: Optional[float] = None,
    concurrency: Optional[int] = None,
    budget: Optional[int] = None,
    _registry: Optional[ToolRegistry] = None,
) -> Callable[[F], F]: ...
def tool(
    function: Any = None,
    parameters: Optional[Sequence[ToolParameter]] = None,
    dependencies: Optional[Sequence[str]] = None,
    secrets: Optional[Sequence[str]] = None,
    sandbox: str = "default",
    name: Optional[str] = None,
    *,
    description: Optional[str] = None,
    where: Optional[Where] = None,
    raises: bool = False,
    timeout: Optional[float] = None,
    concurrency: Optional[int] = None,
    budget: Optional[int] = None,
    _registry: Optional[ToolRegistry] = None,
) -> Any:
    """Makes a function a tool. It can still be called as before.

    By default it runs in this process, and scripts call it from their cells. With `where="guest"` its
    source is loaded in the cell and runs there; so does a tool that names `dependencies` or `secrets`,
    because those are a cell's. Its description is its docstring, and its parameters are those of its
    signature, unless they are given.

    A script gets a `ToolResponse` for a call of a tool of this process. With `raises=True` it gets the
    value itself, and an exception if the tool fails.

    >>> tools = ToolRegistry()
    >>> @tools.tool(raises=True)
    ... def shout(text: str) -> str:
    ...     "Says it louder."
    ...     return text.upper()
    >>> shout("hello")
    'HELLO'
    """
    if isinstance(function, str):
        description, function = function, None
    options: dict[str, Any] = {
        "description": description,
        "parameters": parameters,
        "dependencies": dependencies,
        "secrets": secrets,
        "sandbox": sandbox,
        "name": name,
        "where": where,
        "raises": raises,
        "timeout": timeout,
        "concurrency": concurrency,
        "budget": budget,
    }
    into = registry if _registry is None else _registry

    def decorate(function: F) -> F:
        registered = _registered(function, **options)
        into.register(registered)
        with contextlib.suppress(AttributeError):  # A method of something built in has none.
            function._registered_tool = registered  # type: ignore[attr-defined]
        return function

    return decorate if function is None else decorate(function)


def _registered(
    function: Callable[..., Any],
    description: Optional[str] = None,
    parameters: Optional[Sequence[ToolParameter]] = None,
    dependencies: Optional[Sequence[str]] = None,
    secrets: Optional[Sequence[str]] = None,
    sandbox: str = "default",
    name: Optional[str] = None,
    where: Optional[Where] = None,
    **options: Any,
) -> RegisteredTool:
    name = name or function.__name__
    if where is None:
        where = "guest" if dependencies or secrets else "host"
    if where not in ("host", "guest"):
        raise ToolError(f"tool {name}: where must be 'host' or 'guest', not {where!r}")
    for bound, least in (("timeout", 0), ("concurrency", 1), ("budget", 0)):
        value = options.get(bound)
        if value is not None and not (value >= least):
            raise ToolError(f"tool {name}: {bound} = {value} is invalid: must be {least} or more")
    if options.get("timeout") == 0:
        raise ToolError(f"tool {name}: timeout = 0 is invalid: must be more than 0")
    described = describe(function)
    declared = list(parameters or [])
    return RegisteredTool(
        tool=Tool(name, description or described.description, declared),
        fn=function,
        where=where,
        described=described,
        source=_source_of(function, name) if where == "guest" else None,
        dependencies=list(dependencies or []),
        secrets=list(secrets or []),
        sandbox_name=sandbox,
        declared=declared,
        **options,
    )


def _source_of(function: Callable[..., Any], name: str) -> str:
    """A function's own source, without its decorators."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise ToolError(
            f"tool {name}: its source cannot be found ({error}), so it cannot run in a cell. "
            "Write it to a file, or let it run here: where='host'"
        ) from error
    # A function inside of something stays indented: its strings may have lines of their own.
    head = "if True:\n" if text[:1].isspace() else ""
    try:
        statement: Any = ast.parse(head + text).body[0]
    except SyntaxError as error:
        raise ToolError(f"tool {name}: its source cannot be read by itself: {error}") from error
    found = statement.body[0] if head else statement
    if not isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise ToolError(f"tool {name}: only a `def` or `async def` can run in a cell")
    source = head + "\n".join((head + text).split("\n")[found.lineno - 1 : found.end_lineno])
    return source if found.name == name else f"{source}\n\n{name} = {found.name}"


def progress(done: float, total: Optional[float] = None, message: str = "") -> None:
    """Tells whoever follows the run how far a tool of this process has come. Elsewhere it does nothing."""
    reply = current_reply.get()
    if reply is not None:
        reply.progress(done, total, message)
