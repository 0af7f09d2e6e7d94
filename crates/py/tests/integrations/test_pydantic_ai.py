"""The toolset for Pydantic AI, with the real library and scripted models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed")

from pydantic_ai import Agent  # noqa: E402
from pydantic_ai.messages import (  # noqa: E402
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402
from pydantic_ai.models.test import TestModel  # noqa: E402
from sleepers import DOT, Sleeper  # noqa: E402

import belljar  # noqa: E402
from belljar.integrations.pydantic_ai import BelljarToolset  # noqa: E402
from conftest import eventually  # noqa: E402


def returned(messages: list[ModelMessage]) -> list[Any]:
    return [part for each in messages for part in each.parts if isinstance(part, ToolReturnPart)]


def scripted(*codes: str) -> FunctionModel:
    """A model that calls the tool with each code, and then answers with what it read last."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        read = returned(messages)
        if len(read) < len(codes):
            return ModelResponse(parts=[ToolCallPart("run_python", {"code": codes[len(read)]})])
        return ModelResponse(parts=[TextPart(str(read[-1].content))])

    return FunctionModel(answer)


async def run(toolset: BelljarToolset[Any], *codes: str) -> list[Any]:
    ended = await Agent(scripted(*codes), toolsets=[toolset]).run("Go on.")
    return returned(ended.all_messages())


async def test_an_agent_runs_code_and_answers() -> None:
    agent = Agent(scripted("total = sum(range(10))", "total"), toolsets=[BelljarToolset(session=True)])
    assert (await agent.run("What is the sum of the numbers below ten?")).output == "45"


def test_an_agent_without_a_loop_does_too() -> None:
    agent = Agent(scripted("6 * 7"), toolsets=[BelljarToolset()])
    assert agent.run_sync("What is six times seven?").output == "42"


async def test_variables_stay_in_a_session_and_nowhere_else() -> None:
    fresh = await run(BelljarToolset(), "x = 41", "x + 1")
    assert "NameError" in fresh[1].content
    kept = await run(BelljarToolset(session=True), "x = 41", "x + 1")
    assert kept[1].content == "42"


async def test_each_run_of_an_agent_has_a_session_of_its_own() -> None:
    toolset: BelljarToolset[None] = BelljarToolset(session=True)
    await run(toolset, "x = 1")
    assert "NameError" in (await run(toolset, "x"))[0].content


async def test_runs_at_the_same_time_share_nothing() -> None:
    toolset: BelljarToolset[None] = BelljarToolset(session=True)
    codes = [[f"x = {number}", "import time\ntime.sleep(0.5)", "x"] for number in (1, 2)]
    first, second = await asyncio.gather(*(run(toolset, *each) for each in codes))
    assert (first[-1].content, second[-1].content) == ("1", "2")


async def test_runs_can_share_a_session_that_is_given() -> None:
    async with belljar.Session() as session:
        toolset: BelljarToolset[None] = BelljarToolset(session)
        await run(toolset, "x = 1")
        assert (await run(toolset, "x"))[0].content == "1"


async def test_the_metadata_is_the_result_and_an_error_has_its_line() -> None:
    (part,) = await run(BelljarToolset(), "x = 1\nx / 0")
    assert "line 2" in part.content and part.content.endswith("ZeroDivisionError: division by zero")
    assert part.metadata.verdict == "exception"


async def test_a_timeout_is_text_and_a_verdict() -> None:
    (part,) = await run(BelljarToolset(timeout=0.3), "while True: pass")
    assert "timeout_wall" in part.content and "0.3s" in part.content
    assert part.metadata.verdict == "timeout_wall"


async def test_pictures_go_to_the_model_and_files_to_the_caller() -> None:
    (part,) = await run(BelljarToolset(collect="*.txt"), DOT + "open('a.txt', 'w').write('x')\nNone")
    text, picture = part.content
    assert text == "[1 picture]\nfiles: a.txt (1 byte)"
    assert isinstance(picture, BinaryContent) and picture.data.startswith(b"\x89PNG")
    assert part.metadata.files["a.txt"].read_text() == "x"


async def test_the_model_is_told_what_the_tool_takes() -> None:
    model = TestModel(call_tools=[])
    await Agent(model, toolsets=[BelljarToolset(session=True)]).run("Hello.")
    assert model.last_model_request_parameters is not None
    (told,) = model.last_model_request_parameters.function_tools
    assert told.name == "run_python" and told.parameters_json_schema["required"] == ["code"]
    assert "stay for the next call" in (told.description or "")


async def test_arguments_of_the_wrong_kind_go_back_to_the_model() -> None:
    calls: list[dict[str, Any]] = [{"code": 1}, {"code": "6 * 7"}]

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if calls:
            return ModelResponse(parts=[ToolCallPart("run_python", calls.pop(0))])
        return ModelResponse(parts=[TextPart(str(returned(messages)[-1].content))])

    ended = await Agent(FunctionModel(answer), toolsets=[BelljarToolset()]).run("Go on.")
    assert ended.output == "42"


async def test_a_cancelled_run_kills_its_cell() -> None:
    sleeper = Sleeper()
    task = asyncio.ensure_future(run(BelljarToolset(session=True), sleeper.python))
    while not sleeper.runs():
        assert not task.done()
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    eventually("the cell is gone", lambda: not sleeper.runs())
