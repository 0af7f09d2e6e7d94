"""A toolset for Pydantic AI: a model's code runs in a sandbox.

    from belljar.integrations.pydantic_ai import BelljarToolset

    agent = Agent(model, toolsets=[BelljarToolset(session=True)])

What a tool call returns has the whole `ExecutionResult` as its metadata.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Optional, Union

from ..sandbox import Sandbox
from ..session import Session
from . import missing
from ._runner import DESCRIPTION, FORGETS, KEEPS, Runner, pictures

try:
    from pydantic_ai import BinaryContent, RunContext, ToolReturn
    from pydantic_ai.tools import AgentDepsT, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError as error:
    raise missing("pydantic-ai-slim") from error

__all__ = ["BelljarToolset"]

_PARAMETERS = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "The Python code to run."}},
    "required": ["code"],
    "additionalProperties": False,
}
_VALIDATOR = SchemaValidator(
    core_schema.typed_dict_schema({"code": core_schema.typed_dict_field(core_schema.str_schema())})
)


class BelljarToolset(AbstractToolset[AgentDepsT]):
    """One tool, `run_python`: code runs in a fresh sandbox, or in a session that keeps its variables.

    With `session=True` every run of the agent has a session of its own, which ends with the run. A
    `belljar.Session` that is given is shared by all runs. Pictures that the code shows go to the model
    beside the text. Whatever else is given is for `belljar.Sandbox`.
    """

    def __init__(
        self,
        session: Union[Session, bool] = False,
        *,
        sandbox: Optional[Sandbox] = None,
        name: str = "run_python",
        description: Optional[str] = None,
        timeout: Optional[float] = None,
        collect: Union[str, Sequence[str]] = (),
        max_retries: int = 1,
        id: Optional[str] = None,
        **config: Any,
    ) -> None:
        self._runner = Runner(session, sandbox=sandbox, timeout=timeout, collect=collect, **config)
        self._id = id
        self._max_retries = max_retries
        self._definition = ToolDefinition(
            name=name,
            description=description or DESCRIPTION + (KEEPS if self._runner.keeps else FORGETS),
            parameters_json_schema=_PARAMETERS,
            # Steps of a session cannot overlap.
            sequential=self._runner.keeps,
        )

    @property
    def id(self) -> Optional[str]:
        """The name of the toolset among those of its agent."""
        return self._id

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """The toolset of one run of the agent: with a session that no other run has."""
        its_own = copy.copy(self)
        its_own._runner = self._runner.fresh()
        return its_own

    async def __aexit__(self, *args: Any) -> Optional[bool]:
        """Ends the session of the run."""
        await self._runner.end_session()
        return None

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The one tool."""
        found = ToolsetTool(
            toolset=self,
            tool_def=self._definition,
            max_retries=self._max_retries,
            args_validator=_VALIDATOR,
        )
        return {self._definition.name: found}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        """Runs the code of a call."""
        ran = await self._runner.run(tool_args["code"])
        shown = [BinaryContent(each.data, media_type=each.media_type) for each in pictures(ran.result)]
        return ToolReturn(return_value=[ran.text, *shown] if shown else ran.text, metadata=ran.result)
