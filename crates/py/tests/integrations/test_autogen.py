"""The code executor for AutoGen, with the real library and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.importorskip("autogen_core", reason="autogen-core is not installed")

from autogen_core import CancellationToken  # noqa: E402
from autogen_core.code_executor import CodeBlock, CodeExecutor  # noqa: E402
from sleepers import Sleeper  # noqa: E402

from belljar.integrations.autogen import BelljarCodeExecutor, BelljarCodeResult  # noqa: E402
from conftest import eventually  # noqa: E402


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELLJAR_WORKSPACES", str(tmp_path))


@pytest.fixture
async def executor() -> AsyncIterator[BelljarCodeExecutor]:
    async with BelljarCodeExecutor(timeout=30) as made:
        yield made


async def run(executor: BelljarCodeExecutor, *blocks: tuple[str, str]) -> BelljarCodeResult:
    made = [CodeBlock(code, language) for language, code in blocks]
    return await executor.execute_code_blocks(made, CancellationToken())


async def test_blocks_of_python_and_of_the_shell_run_in_one_directory(executor: BelljarCodeExecutor) -> None:
    done = await run(
        executor, ("python", "open('a', 'w').write('1')\nprint('x')"), ("bash", "cat a"), ("sh", "echo $0")
    )
    assert done.exit_code == 0
    assert done.output.startswith("x\n1block_")
    assert done.code_file is not None and done.code_file.startswith("work/block_")


async def test_files_stay_and_variables_do_not(executor: BelljarCodeExecutor) -> None:
    await run(executor, ("python", "x = 1\nopen('a', 'w').write('1')"))
    assert (await run(executor, ("sh", "cat a"))).output == "1"
    assert "NameError" in (await run(executor, ("python", "x"))).output


async def test_a_block_that_fails_is_the_last_and_names_its_line(executor: BelljarCodeExecutor) -> None:
    done = await run(executor, ("python", "print('a')\n1 / 0"), ("python", "print('b')"))
    assert done.exit_code == 1
    assert "line 2" in done.output and "ZeroDivisionError" in done.output
    assert "b\n" not in done.output
    assert (await run(executor, ("bash", "exit 7"))).exit_code == 7


async def test_a_block_can_name_its_file_within_the_directory(executor: BelljarCodeExecutor) -> None:
    done = await run(executor, ("python", "# filename: lib/part.py\nhalf = 21"))
    assert done.code_file == "work/lib/part.py"
    assert (await run(executor, ("python", "from lib.part import half\nprint(half * 2)"))).output == "42\n"
    for name in ("../up.py", "/etc/x"):
        with pytest.raises(ValueError, match="must be in the working directory"):
            await run(executor, ("python", f"# filename: {name}\n"))


async def test_an_unknown_language_is_refused(executor: BelljarCodeExecutor) -> None:
    with pytest.raises(ValueError, match="unsupported language: ruby"):
        await run(executor, ("ruby", "puts 1"))


async def test_a_timeout_kills_the_block_and_is_exit_code_124() -> None:
    sleeper = Sleeper()
    async with BelljarCodeExecutor(timeout=1) as executor:
        done = await run(executor, ("bash", f"echo begun; {sleeper.shell}"))
    assert done.exit_code == 124
    assert done.output.startswith("begun\n") and "Timeout" in done.output
    eventually("the cell is gone", lambda: not sleeper.runs())


async def test_a_cancelled_token_kills_the_block(executor: BelljarCodeExecutor) -> None:
    sleeper, token = Sleeper(), CancellationToken()
    task = asyncio.ensure_future(executor.execute_code_blocks([CodeBlock(sleeper.shell, "bash")], token))
    while not sleeper.runs():
        assert not task.done()
        await asyncio.sleep(0.02)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    eventually("the cell is gone", lambda: not sleeper.runs())
    assert (await run(executor, ("sh", "echo on"))).output == "on\n"


async def test_a_restart_empties_the_directory(executor: BelljarCodeExecutor) -> None:
    await run(executor, ("sh", "echo 1 >a"))
    await executor.restart()
    assert (await run(executor, ("sh", "ls"))).output.startswith("block_")


async def test_a_stopped_executor_leaves_nothing(tmp_path: Path) -> None:
    async with BelljarCodeExecutor() as executor:
        await run(executor, ("sh", "true"))
        assert len(list(tmp_path.glob("*/autogen-*"))) == 1
    assert not list(tmp_path.glob("*/autogen-*"))
    with pytest.raises(RuntimeError, match="not started"):
        _ = executor.workspace


async def test_it_can_be_written_to_a_file_and_read_again() -> None:
    told = BelljarCodeExecutor(timeout=7, allow_hosts=["example.com"]).dump_component()
    again = CodeExecutor.load_component(told)
    assert isinstance(again, BelljarCodeExecutor)
    assert again.dump_component() == told and told.config["timeout"] == 7


@pytest.mark.filterwarnings("ignore:No approval function")
async def test_an_agent_runs_the_code_of_a_model(executor: BelljarCodeExecutor) -> None:
    pytest.importorskip("autogen_agentchat")
    from autogen_agentchat.agents import CodeExecutorAgent
    from autogen_agentchat.base import TaskResult
    from autogen_agentchat.messages import CodeExecutionEvent
    from autogen_ext.models.replay import ReplayChatCompletionClient

    model = ReplayChatCompletionClient(["```python\nprint(6 * 7)\n```", "It is 42."])
    agent = CodeExecutorAgent("runner", code_executor=executor, model_client=model)
    seen = [each async for each in agent.run_stream(task="Six times seven?")]
    results = [each.result for each in seen if isinstance(each, CodeExecutionEvent)]
    assert [(each.exit_code, each.output) for each in results] == [(0, "42\n")]
    assert isinstance(seen[-1], TaskResult)
    assert getattr(seen[-1].messages[-1], "content", "") == "It is 42."


async def test_an_agent_calls_it_as_a_tool(executor: BelljarCodeExecutor) -> None:
    pytest.importorskip("autogen_agentchat")
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core import FunctionCall
    from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
    from autogen_ext.models.replay import ReplayChatCompletionClient
    from autogen_ext.tools.code_execution import PythonCodeExecutionTool

    call = FunctionCall(id="1", name="CodeExecutor", arguments='{"code": "print(6 * 7)"}')
    made = CreateResult(
        finish_reason="function_calls", content=[call], usage=RequestUsage(0, 0), cached=False
    )
    info = ModelInfo(
        vision=False,
        function_calling=True,
        json_output=False,
        family=ModelFamily.UNKNOWN,
        structured_output=False,
    )
    model = ReplayChatCompletionClient([made], model_info=info)
    agent = AssistantAgent("analyst", model, tools=[PythonCodeExecutionTool(executor)])
    ended = await agent.run(task="Six times seven?")
    assert getattr(ended.messages[-1], "content", "").strip() == "42"
