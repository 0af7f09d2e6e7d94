"""A Python executor for smolagents: what a `CodeAgent` writes runs in a sandbox.

    from belljar.integrations.smolagents import BelljarExecutor

    with BelljarExecutor() as executor:
        agent = CodeAgent(tools=[search], model=model, executor=executor)

The agent's tools run in this process, and its code calls them from the cell. Their arguments and
answers cross as JSON.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any, Optional

from ..results import ExecutionResult
from ..sandbox import Sandbox
from ..session import Session
from ..tools import ToolParameter, ToolRegistry
from . import missing

try:
    from smolagents.local_python_executor import (  # type: ignore[import-untyped]
        CodeOutput,
        InterpreterError,
        PythonExecutor,
    )
    from smolagents.serialization import SafeSerializer  # type: ignore[import-untyped]
except ImportError as error:
    raise missing("smolagents") from error

__all__ = ["BelljarExecutor"]

_KINDS = {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "array": "list"}
_KINDS["object"] = "dict"
_LAST, _FINAL = "smolagents.last", "smolagents.final_answer"

# Runs in the cell before any step. It writes values as smolagents' SafeSerializer reads them.
_PRELUDE = '''
def _smolagents_prelude():
    import base64, datetime, decimal, pathlib, sys

    def plain(value):
        if value is None or isinstance(value, (str, int, float, bool)):
            return value
        if isinstance(value, dict):
            if all(isinstance(key, str) for key in value):
                return {key: plain(item) for key, item in value.items()}
            pairs = [[plain(key), plain(item)] for key, item in value.items()]
            return {"__type__": "dict_with_complex_keys", "data": pairs}
        if isinstance(value, list):
            return [plain(item) for item in value]
        for kind in (tuple, set, frozenset):
            if isinstance(value, kind):
                return {"__type__": kind.__name__, "data": [plain(item) for item in value]}
        if isinstance(value, (bytes, bytearray)):
            return {"__type__": "bytes", "data": base64.b64encode(bytes(value)).decode()}
        if isinstance(value, complex):
            return {"__type__": "complex", "real": value.real, "imag": value.imag}
        for kind in (datetime.datetime, datetime.date, datetime.time):
            if isinstance(value, kind):
                return {"__type__": kind.__name__, "data": value.isoformat()}
        if isinstance(value, datetime.timedelta):
            return {"__type__": "timedelta", "total_seconds": value.total_seconds()}
        if isinstance(value, decimal.Decimal):
            return {"__type__": "Decimal", "data": str(value)}
        if isinstance(value, pathlib.PurePath):
            return {"__type__": "Path", "data": str(value)}
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.ndarray):
            return {"__type__": "ndarray", "data": value.tolist(), "dtype": str(value.dtype)}
        if numpy is not None and isinstance(value, numpy.generic):
            return value.item()
        image = sys.modules.get("PIL.Image")
        if image is not None and isinstance(value, image.Image):
            import io
            file = io.BytesIO()
            value.save(file, format="PNG")
            return {"__type__": "PIL.Image", "data": base64.b64encode(file.getvalue()).decode()}
        return repr(value)

    def last(value):
        if value is not None:
            emit_intermediate("smolagents.last", plain(value))

    class FinalAnswer(BaseException):
        pass

    def final_answer(*args, **kwargs):
        """Gives the final answer, and ends the step."""
        emit_intermediate("smolagents.final_answer", plain([list(args), kwargs]))
        raise FinalAnswer

    sys.displayhook = last
    return final_answer

final_answer = _smolagents_prelude()
'''


class BelljarExecutor(PythonExecutor):  # type: ignore[misc]
    """Runs the steps of an agent in one session: variables stay from step to step.

    `timeout` is for each step, in seconds. Whatever else is given is for `belljar.Sandbox`:
    `dependencies`, `allow_hosts`, `memory_mb`. All that is installed there can be imported, so the
    agent may be told so: `additional_authorized_imports=["*"]`.

    A step that uses up the cell's memory takes the session with it. The next one starts another,
    with the variables that the agent sent, and says so in its logs.
    """

    def __init__(self, *, timeout: Optional[float] = None, **config: Any) -> None:
        self.state: dict[str, Any] = {"_print_outputs": ""}
        self._timeout = timeout
        self._config = config
        self._tools: dict[str, Any] = {}
        self._variables: dict[str, Any] = {}
        self._sandbox: Optional[Sandbox] = None
        self._session: Optional[Session] = None

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Sets variables. What SafeSerializer does not know is refused."""
        SafeSerializer.dumps(variables)
        self._variables.update(variables)
        if self._session is not None and self._session.is_alive:
            self._set(self._session, variables)

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Sets the tools. Other tools than before mean another session."""
        if self._tools.keys() != tools.keys() or any(self._tools[name] is not tools[name] for name in tools):
            self._tools = dict(tools)
            self.cleanup()

    def __call__(self, code_action: str) -> CodeOutput:
        """Runs a step. A failure is an `InterpreterError`, with the line."""
        session, note = self._open()
        # The newline says that this is code, and not the name of a file.
        result = session.step(code_action + "\n", timeout=self._timeout).wait()
        logs = note + result.stdout + result.stderr
        self.state["_print_outputs"] = logs
        told = {each["label"]: each["data"] for each in result.intermediates}
        if _FINAL in told:
            args, kwargs = SafeSerializer.from_json_safe(told[_FINAL])
            return CodeOutput(self._answer(args, kwargs), logs, True)
        if not result.success:
            raise InterpreterError(_failure(result))
        return CodeOutput(SafeSerializer.from_json_safe(told.get(_LAST)), logs, False)

    def _answer(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What the agent's own `final_answer` makes of the answer."""
        tool = self._tools.get("final_answer")
        if tool is None:
            return args[0] if args else next(iter(kwargs.values()), None)
        return tool(*args, **kwargs)

    def _open(self) -> tuple[Session, str]:
        """The session, and what to say if the earlier one is gone."""
        if self._session is not None and self._session.is_alive:
            return self._session, ""
        note = "(The earlier session is gone, and so are its variables.)\n" if self._session else ""
        if self._sandbox is None:
            tools = _registry(self._tools)
            self._sandbox = Sandbox(tools=tools if len(tools) else None, **self._config)
        session = self._sandbox.session()
        session.step(_PRELUDE).wait().raise_for_verdict()
        self._set(session, self._variables)
        self._session = session
        return session, note

    def _set(self, session: Session, variables: Mapping[str, Any]) -> None:
        if variables:
            reader = SafeSerializer.get_deserializer_code(False)
            code = (
                f"_smolagents = {{}}\nexec({reader!r}, _smolagents)\n"
                f"globals().update(_smolagents['_deserialize']({SafeSerializer.dumps(variables)!r}))\n"
            )
            session.step(code).wait().raise_for_verdict()

    def cleanup(self) -> None:
        """Ends the session. The agent calls this, too."""
        session, self._session = self._session, None
        sandbox, self._sandbox = self._sandbox, None
        if session is not None:
            session.close().wait()
        if sandbox is not None:
            sandbox.close().wait()

    def __enter__(self) -> BelljarExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()


def _failure(result: ExecutionResult) -> str:
    trace = (result.traceback or "").rstrip("\n")
    error = result.error or result.verdict
    if trace.endswith(error):
        return f"Code execution failed: {error}\n{trace}"
    return f"Code execution failed: {result.verdict}: {error}\n{trace}".rstrip("\n")


def _registry(tools: Mapping[str, Any]) -> ToolRegistry:
    """The agent's tools, as tools that run in this process."""
    registry = ToolRegistry()
    for name, tool in tools.items():
        if name != "final_answer":
            parameters = [_parameter(tool, key, schema) for key, schema in tool.inputs.items()]
            registry.add(
                _called(tool), name=name, description=tool.description, parameters=parameters, raises=True
            )
    return registry


def _called(tool: Any) -> Any:
    """A function that calls a tool, with the signature that the tool's inputs make."""

    def call_with(**given: Any) -> Any:
        return tool(**given)

    parameters = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in tool.inputs]
    call_with.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call_with


def _parameter(tool: Any, key: str, schema: Mapping[str, Any]) -> ToolParameter:
    """What smolagents knows of a parameter, with the default of the tool's own `forward`."""
    kind = schema.get("type", "any")
    taken = inspect.signature(getattr(tool, "forward", tool)).parameters.get(key)
    default = None if taken is None or taken.default is inspect.Parameter.empty else taken.default
    is_optional = bool(schema.get("nullable")) or (taken is not None and taken.default is not taken.empty)
    try:
        json.dumps(default)
    except TypeError as error:
        raise TypeError(f"tool {tool.name}: the default of {key} has no form in JSON") from error
    return ToolParameter(
        name=key,
        type=_KINDS.get(kind, "any") if isinstance(kind, str) else "any",
        description=str(schema.get("description", "")),
        default=default,
        required=not is_optional,
    )
