"""Tools of the host's: functions that a script calls here, and the host carries out.

    script ─► function: checks its arguments ─► tool_call ─► host
    script ◄─ ToolResponse, or what it holds ◄─ tool_result ◄─┘

Loaded only where a template has such tools. `calls` carries the calls.
"""

import asyncio
import inspect

from .attachments import ToolBytes, content
from .calls import calls
from .namespace import ToolResponse, base_globals

_KINDS = {kind.__name__: kind for kind in (str, int, float, bool, bytes, list, dict)}


class ToolError(Exception):
    """A tool of the host's did not do what it was asked for."""

    # Where a script finds it, and pickle too.
    __module__ = "__main__"


def install(faces):
    """Puts a function for each tool into the globals that every script starts with."""
    base_globals["ToolError"], base_globals["ToolBytes"] = ToolError, ToolBytes
    for face in faces:
        base_globals[face["name"]] = _function(face)
    return [face["name"] for face in faces]


def _function(face):
    name, raises = face["name"], face["raises"]
    signature = inspect.Signature([_parameter(part) for part in face["parameters"]])
    files = [part["name"] for part in face["parameters"] if part["annotation"].startswith("bytes")]

    def call(*arguments, **named):
        try:
            bound = signature.bind(*arguments, **named).arguments
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        for file in files:
            if file in bound:
                bound[file] = content(bound[file])
        if asyncio._get_running_loop() is not None:
            return _later(name, bound, raises)
        return _outcome(calls.wait_for(name, bound), raises)

    call.__name__ = call.__qualname__ = name
    call.__doc__, call.__signature__, call.__module__ = face["doc"], signature, "__main__"
    call.__annotations__ = {part.name: part.annotation for part in signature.parameters.values()}
    return call


def _parameter(part):
    of_python = inspect.Parameter
    return of_python(
        part["name"],
        of_python.KEYWORD_ONLY if part["keyword_only"] else of_python.POSITIONAL_OR_KEYWORD,
        default=of_python.empty if part["required"] else part["default"],
        annotation=_KINDS.get(part["annotation"], part["annotation"]),
    )


async def _later(name, bound, raises):
    return _outcome(await calls.answer_to(name, bound), raises)


def _outcome(answer, raises):
    success, data, message = answer
    if not raises:
        return ToolResponse(success, data, message)
    if not success:
        raise ToolError(message)
    return data
