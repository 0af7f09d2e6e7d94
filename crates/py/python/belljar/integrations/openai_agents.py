"""A function tool for the OpenAI Agents SDK: a model's code runs in a sandbox.

It goes among the tools of an agent:

    from belljar.integrations.openai_agents import belljar_tool

    agent = Agent(name="analyst", tools=[belljar_tool(session=True)])
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Callable, Optional, Union

from ..results import ExecutionResult
from ..sandbox import Sandbox
from ..session import Session
from . import missing
from ._runner import DESCRIPTION, FORGETS, KEEPS, Runner, pictures

try:
    from agents import FunctionTool, ToolOutputImage, ToolOutputText
    from agents.tool_context import ToolContext
except ImportError as error:
    raise missing("openai-agents") from error

__all__ = ["belljar_tool"]

_PARAMETERS = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "The Python code to run."}},
    "required": ["code"],
    "additionalProperties": False,
}


def belljar_tool(
    session: Union[Session, bool] = False,
    *,
    sandbox: Optional[Sandbox] = None,
    name: str = "run_python",
    description: Optional[str] = None,
    timeout: Optional[float] = None,
    collect: Union[str, Sequence[str]] = (),
    on_result: Optional[Callable[[ExecutionResult], object]] = None,
    **config: Any,
) -> FunctionTool:
    """A tool that runs Python code in a fresh sandbox, or in a session that keeps its variables.

    `session` is `True` for a session of the tool's own, or a `belljar.Session` of yours. `on_result`
    gets the whole result of every call, with its files. Pictures that the code shows go to the model
    beside the text. Whatever else is given is for `belljar.Sandbox`.
    """
    runner = Runner(session, sandbox=sandbox, timeout=timeout, collect=collect, **config)

    async def invoke(_: ToolContext[Any], arguments: str) -> Any:
        code = _code(arguments)
        if code is None:
            return f'Wrong arguments: {name} takes {{"code": "…"}}, where the code is a string.'
        ran = await runner.run(code)
        if on_result is not None:
            on_result(ran.result)
        shown = [ToolOutputImage(image_url=each.url) for each in pictures(ran.result)]
        return [ToolOutputText(text=ran.text), *shown] if shown else ran.text

    return FunctionTool(
        name=name,
        description=description or DESCRIPTION + (KEEPS if runner.keeps else FORGETS),
        params_json_schema=_PARAMETERS,
        on_invoke_tool=invoke,
    )


def _code(arguments: str) -> Optional[str]:
    """The code of a call. `None` if the model did not keep to the schema."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return None
    code = given.get("code") if isinstance(given, dict) else None
    return code if isinstance(code, str) else None
