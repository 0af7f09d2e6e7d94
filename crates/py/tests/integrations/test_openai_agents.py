"""The tool for the OpenAI Agents SDK, with the real library and a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled  # noqa: E402
from agents.tool_context import ToolContext  # noqa: E402
from openai.types.responses import (  # noqa: E402
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from sleepers import DOT, Sleeper  # noqa: E402

import belljar  # noqa: E402
from belljar.integrations.openai_agents import belljar_tool  # noqa: E402
from conftest import eventually  # noqa: E402

set_tracing_disabled(True)


class Scripted(Model):
    """A model that calls the tool with each code, and then answers with what it read last."""

    def __init__(self, *codes: str) -> None:
        self.codes = list(codes)
        self.read: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **_: Any) -> ModelResponse:
        self.read = [each["output"] for each in input if isinstance(each, dict) and "output" in each]
        made: Any
        if len(self.read) < len(self.codes):
            made = ResponseFunctionToolCall(
                name="run_python",
                arguments=json.dumps({"code": self.codes[len(self.read)]}),
                call_id=f"call-{len(self.read)}",
                type="function_call",
            )
        else:
            text = ResponseOutputText(text=str(self.read[-1]), type="output_text", annotations=[])
            made = ResponseOutputMessage(
                id="1", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[made], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **_: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def context() -> ToolContext[None]:
    return ToolContext(context=None, tool_name="run_python", tool_call_id="1", tool_arguments="{}")


async def invoke(tool: Any, code: str) -> Any:
    return await tool.on_invoke_tool(context(), json.dumps({"code": code}))


async def test_an_agent_runs_code_and_answers() -> None:
    model = Scripted("total = sum(range(10))", "print(total)")
    agent = Agent(name="analyst", model=model, tools=[belljar_tool(session=True)])
    ended = await Runner.run(agent, "What is the sum of the numbers below ten?")
    assert ended.final_output == "45"
    assert model.read == ["(no output)", "45"]


async def test_variables_stay_in_a_session_and_nowhere_else() -> None:
    fresh, kept = belljar_tool(), belljar_tool(session=True)
    for tool in (fresh, kept):
        await invoke(tool, "x = 41")
    assert "NameError" in await invoke(fresh, "x + 1")
    assert await invoke(kept, "x + 1") == "42"


async def test_an_error_is_text_with_the_line() -> None:
    text = await invoke(belljar_tool(), "x = 1\nx / 0")
    assert "line 2" in text and text.endswith("ZeroDivisionError: division by zero")


async def test_a_timeout_is_text() -> None:
    text = await invoke(belljar_tool(timeout=0.3), "while True: pass")
    assert "timeout_wall" in text and "0.3s" in text


async def test_wrong_arguments_are_told_to_the_model() -> None:
    for arguments in ("{", "[]", '{"code": 1}'):
        said = await belljar_tool().on_invoke_tool(context(), arguments)
        assert said.startswith("Wrong arguments: run_python takes")


async def test_the_schema_is_strict() -> None:
    tool = belljar_tool()
    assert tool.strict_json_schema
    assert tool.params_json_schema["required"] == ["code"]
    assert tool.params_json_schema["additionalProperties"] is False


async def test_pictures_go_to_the_model_and_results_to_the_caller() -> None:
    results: list[belljar.ExecutionResult] = []
    tool = belljar_tool(collect="*.txt", on_result=results.append)
    text, picture = await invoke(tool, DOT + "open('a.txt', 'w').write('x')\nNone")
    assert text.text == "[1 picture]\nfiles: a.txt (1 byte)"
    assert picture.image_url.startswith("data:image/png;base64,")
    assert results[0].files["a.txt"].read_text() == "x"


async def test_a_cancelled_run_kills_its_cell() -> None:
    sleeper = Sleeper()
    agent = Agent(name="analyst", model=Scripted(sleeper.python), tools=[belljar_tool()])
    task = asyncio.ensure_future(Runner.run(agent, "Sleep."))
    while not sleeper.runs():
        assert not task.done()
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    eventually("the cell is gone", lambda: not sleeper.runs())
