"""The LangChain tool, with the real library and a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.language_models import GenericFakeChatModel  # noqa: E402
from langchain_core.messages import AIMessage, ToolMessage  # noqa: E402
from sleepers import DOT, Sleeper  # noqa: E402

import belljar  # noqa: E402
from belljar.integrations.langchain import BelljarTool  # noqa: E402
from conftest import eventually  # noqa: E402


class Scripted(GenericFakeChatModel):
    """A model that answers what it was given, and takes tools."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def call(code: str, id: str = "1") -> dict[str, Any]:
    return {"name": "run_python", "args": {"code": code}, "id": id, "type": "tool_call"}


def test_the_model_reads_text_and_the_artifact_is_the_result() -> None:
    message = BelljarTool().invoke(call("print('hello')\n6 * 7"))
    assert isinstance(message, ToolMessage)
    assert message.content == "hello\n42"
    assert isinstance(message.artifact, belljar.ExecutionResult)
    assert message.artifact.verdict == "ok"


def test_the_tool_tells_the_model_what_it_takes_and_what_it_keeps() -> None:
    fresh, kept = BelljarTool(), BelljarTool(session=True)
    assert fresh.args == {
        "code": {"description": "The Python code to run.", "title": "Code", "type": "string"}
    }
    assert "starts afresh" in fresh.description and "stay for the next call" in kept.description


def test_an_error_is_text_with_the_line() -> None:
    message = BelljarTool().invoke(call("x = 1\nx / 0"))
    assert "line 2" in message.content and message.content.endswith("ZeroDivisionError: division by zero")
    assert message.artifact.failed


def test_a_timeout_is_text_and_a_verdict() -> None:
    message = BelljarTool(timeout=0.3).invoke(call("while True: pass"))
    assert "timeout_wall" in message.content and "0.3s" in message.content
    assert message.artifact.verdict == "timeout_wall"


async def test_variables_stay_in_a_session_and_nowhere_else() -> None:
    fresh, kept = BelljarTool(), BelljarTool(session=True)
    for tool in (fresh, kept):
        await tool.ainvoke({"code": "x = 41"})
    assert "NameError" in await fresh.ainvoke({"code": "x + 1"})
    assert await kept.ainvoke({"code": "x + 1"}) == "42"
    await kept.aclose()


def test_a_session_can_be_the_callers() -> None:
    with belljar.Session() as session:
        session.step("rows = [1, 2, 3]").wait()
        assert BelljarTool(session).invoke({"code": "sum(rows)"}) == "6"


def test_files_and_pictures_are_in_the_artifact() -> None:
    code = DOT + "open('a.txt', 'w').write('x')"
    plain = BelljarTool(collect=["*.txt"]).invoke(call(code))
    assert plain.artifact.files["a.txt"].read_text() == "x"
    assert plain.artifact.displays[0].png.startswith(b"\x89PNG")
    blocks = BelljarTool(pictures=True).invoke(call(code)).content
    assert [block["type"] for block in blocks] == ["text", "image"]
    assert blocks[1]["mime_type"] == "image/png"


async def test_a_cancelled_call_kills_its_cell() -> None:
    sleeper = Sleeper()
    task = asyncio.ensure_future(BelljarTool().ainvoke({"code": sleeper.python}))
    while not sleeper.runs():
        assert not task.done()
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    eventually("the cell is gone", lambda: not sleeper.runs())


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_agent_runs_code_and_answers(is_async: bool) -> None:
    agents = pytest.importorskip("langchain.agents")
    replies = [
        AIMessage("", tool_calls=[call("total = sum(range(10))", "1")]),
        AIMessage("", tool_calls=[call("print(total)", "2")]),
        AIMessage("It is 45."),
    ]
    agent = agents.create_agent(Scripted(messages=iter(replies)), tools=[BelljarTool(session=True)])
    asked = {"messages": [("user", "What is the sum of the numbers below ten?")]}
    said = await agent.ainvoke(asked) if is_async else agent.invoke(asked)
    tools = [each for each in said["messages"] if isinstance(each, ToolMessage)]
    assert [each.content for each in tools] == ["(no output)", "45"]
    assert said["messages"][-1].content == "It is 45."
