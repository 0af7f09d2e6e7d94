"""A tool for LangChain and LangGraph: a model's code runs in a sandbox.

    from belljar.integrations.langchain import BelljarTool

    agent = create_agent(model, tools=[BelljarTool(session=True)])

The model reads text: what was printed, the value of the last expression, and errors with their line.
The message's `artifact` is the whole `ExecutionResult`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

from ..results import ExecutionResult
from ..sandbox import Sandbox
from ..session import Session
from . import missing
from ._runner import DESCRIPTION, FORGETS, KEEPS, Ran, Runner, pictures

try:
    from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
    from langchain_core.tools import BaseTool
    from pydantic import BaseModel, Field, PrivateAttr
except ImportError as error:
    raise missing("langchain-core") from error

__all__ = ["BelljarTool"]

Content = Union[str, list[dict[str, Any]]]


class _Code(BaseModel):
    code: str = Field(description="The Python code to run.")


class BelljarTool(BaseTool):
    """Runs Python code in a fresh sandbox, or with `session` in one that keeps its variables.

    `session` is `True` for a session of the tool's own, or a `belljar.Session` of yours. `timeout` is
    in seconds, and `collect` names the files that are wanted in the artifact. Whatever else is given
    is for `belljar.Sandbox`: `dependencies`, `allow_hosts`, `memory_mb`, `tools`.

    Pictures are in the artifact. With `pictures=True` the model gets them, too, as content blocks;
    not every model takes those from a tool.
    """

    name: str = "run_python"
    description: str = DESCRIPTION
    args_schema: Any = _Code
    response_format: Any = "content_and_artifact"
    pictures: bool = False
    _runner: Runner = PrivateAttr()

    def __init__(
        self,
        session: Union[Session, bool] = False,
        *,
        sandbox: Optional[Sandbox] = None,
        name: str = "run_python",
        description: Optional[str] = None,
        timeout: Optional[float] = None,
        collect: Union[str, Sequence[str]] = (),
        pictures: bool = False,
        **config: Any,
    ) -> None:
        runner = Runner(session, sandbox=sandbox, timeout=timeout, collect=collect, **config)
        told = description or DESCRIPTION + (KEEPS if runner.keeps else FORGETS)
        super().__init__(name=name, description=told, pictures=pictures)
        self._runner = runner

    def _run(
        self, code: str, run_manager: Optional[CallbackManagerForToolRun] = None
    ) -> tuple[Content, ExecutionResult]:
        return self._told(self._runner.run(code).wait())

    async def _arun(
        self, code: str, run_manager: Optional[AsyncCallbackManagerForToolRun] = None
    ) -> tuple[Content, ExecutionResult]:
        return self._told(await self._runner.run(code))

    def _told(self, ran: Ran) -> tuple[Content, ExecutionResult]:
        shown = pictures(ran.result) if self.pictures else []
        if not shown:
            return ran.text, ran.result
        blocks: list[dict[str, Any]] = [{"type": "text", "text": ran.text}]
        blocks.extend(
            {"type": "image", "base64": each.base64, "mime_type": each.media_type} for each in shown
        )
        return blocks, ran.result

    def close(self) -> None:
        """Ends the tool's own session and sandbox."""
        self._runner.close().wait()

    async def aclose(self) -> None:
        """The same for asynchronous code."""
        await self._runner.close()
