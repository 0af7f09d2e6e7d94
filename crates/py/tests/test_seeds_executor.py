"""What the documents say of the executor, and of scripts in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from belljar import (
    Event,
    ExecutionMode,
    ManagedContainer,
    ResourceLimits,
    SandboxConfig,
    SandboxPool,
    ScriptExecutor,
    ToolRegistry,
    ToolResponse,
)


@pytest_asyncio.fixture
async def container() -> AsyncIterator[ManagedContainer]:
    """A sandbox that was checked out, with a tool in the cell and one out of it."""
    tools = ToolRegistry()

    @tools.tool(where="guest")
    async def slow_echo(text: str):  # type: ignore[no-untyped-def]
        await asyncio.sleep(0)
        return text

    @tools.tool
    async def ask(text: str) -> ToolResponse:
        await asyncio.sleep(0)
        return ToolResponse(success=True, data=text.upper())

    tools.register_sandbox(SandboxConfig(pool_size=1, secrets=["GRANTED"]))
    async with SandboxPool(tools, secrets={"GRANTED": "0123456789ab", "NOT_GRANTED": "x"}) as pool:
        async with pool.checkout() as checked_out:
            yield checked_out


async def test_a_result_has_every_field(container: ManagedContainer) -> None:
    script = "emit_log('begun'); emit_intermediate('half', [1]); print('noise'); emit_result({'a': 1})"
    result = await ScriptExecutor().run(container, script)
    assert result.success and result.execution_id
    assert result.final_data == {"a": 1}
    assert result.intermediates == [{"label": "half", "data": [1]}]
    assert result.logs == [{"level": "info", "message": "begun"}]
    assert result.error is None and result.traceback is None
    assert result.duration_ms >= 0 and result.output_bytes > 0


async def test_an_id_is_made_where_none_is_given(container: ManagedContainer) -> None:
    first = await ScriptExecutor().run(container, "emit_result(1)")
    second = await ScriptExecutor().run(container, "emit_result(1)")
    assert first.execution_id and second.execution_id and first.execution_id != second.execution_id


async def test_a_plan_without_a_result_fails_when_the_script_is_over(container: ManagedContainer) -> None:
    # Not when the time limit is, which is 1000 s here.
    patient = ScriptExecutor(ResourceLimits(execution_timeout_sec=1000))
    for script in ("pass", "# only a comment", "emit_intermediate('half', 1)"):
        result = await patient.run(container, script)
        assert not result.success and result.verdict == "no_result", result
        assert "emit_result" in str(result.error)
    assert result.intermediates == [{"label": "half", "data": 1}], "kept on failure"


async def test_an_interactive_step_ends_without_a_result(container: ManagedContainer) -> None:
    step = ScriptExecutor(mode=ExecutionMode.INTERACTIVE)
    first = await step.run(container, "x = 41")
    assert first.success and first.final_data is None
    second = await step.run(container, "emit_result(x + 1)")
    assert second.success and second.final_data == 42
    nothing = await step.run(container, "emit_result(None)")
    assert nothing.success and nothing.final_data is None


async def test_a_callback_is_awaited_in_order_and_its_errors_are_logged(
    container: ManagedContainer, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[int] = []

    async def on_intermediate(event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(event["data"])
        if event["data"] == 3:
            raise ValueError("the callback's own")

    executor = ScriptExecutor(on_intermediate=on_intermediate)
    with caplog.at_level(logging.ERROR, "belljar"):
        script = "for i in range(20): emit_intermediate('i', i)\nemit_result(1)"
        result = await executor.run(container, script)
    assert result.success and heard == list(range(20))
    assert "the callback's own" in caplog.text


async def test_a_time_out_is_told_with_the_seconds(container: ManagedContainer) -> None:
    executor = ScriptExecutor(ResourceLimits(execution_timeout_sec=1))
    result = await executor.run(container, "emit_intermediate('a', 1)\nwhile True: pass")
    assert not result.success and result.verdict == "timeout_wall"
    assert result.error == "Script timed out after 1s"
    assert result.intermediates == [{"label": "a", "data": 1}]
    assert '"<agent_script>", line 2' in str(result.traceback)
    assert (await ScriptExecutor().run(container, "emit_result(1)")).success


async def test_a_crash_is_told(container: ManagedContainer) -> None:
    for script in ("import os; os.abort()", "import os; os._exit(3)", "x = bytearray(10**10)"):
        result = await ScriptExecutor().run(container, script)
        assert not result.success
        if "bytearray" not in script:
            assert str(result.error).startswith("Container stdout closed unexpectedly"), result
        assert (await ScriptExecutor().run(container, "emit_result(1)")).success


async def test_memory_that_runs_out_is_a_verdict_of_its_own(container: ManagedContainer) -> None:
    result = await ScriptExecutor().run(container, "x = bytearray(400 << 20); emit_result(1)")
    assert not result.success
    # Where there are no control groups, Python itself is refused the memory.
    assert result.verdict == "oom" or "MemoryError" in str(result.error), result


async def test_a_flood_is_cut_and_told(container: ManagedContainer) -> None:
    result = await ScriptExecutor().run(container, "while True: print('x' * 10_000)")
    assert not result.success and result.verdict == "output"
    assert result.error == "Script output exceeded 1,048,576 byte limit"
    assert result.output_bytes < 3 << 20, "what the host has taken in is bounded"
    assert (await ScriptExecutor().run(container, "emit_result(1)")).success


async def test_a_lower_limit_is_the_one_that_is_told(container: ManagedContainer) -> None:
    small = ScriptExecutor(ResourceLimits(max_output_bytes=2000))
    result = await small.run(container, "print('x' * 5000)")
    assert result.verdict == "output"
    assert result.error == "Script output exceeded 2,000 byte limit"


@pytest.mark.parametrize("printed", ["5", "[1, 2]", "true", "{", '{"type": "ready"}', "no JSON"])
async def test_what_is_printed_is_output_and_nothing_else(container: ManagedContainer, printed: str) -> None:
    result = await ScriptExecutor().run(container, f"print({printed!r}); emit_result('mine')")
    assert result.success and result.final_data == "mine"
    assert result.stdout == printed + "\n"


@pytest.mark.parametrize("code", ["3", "'a message'", ""])
async def test_sys_exit_is_an_error_of_the_script(container: ManagedContainer, code: str) -> None:
    result = await ScriptExecutor().run(container, f"import sys; sys.exit({code})")
    assert not result.success
    if code == "3":
        assert result.error == "Script called sys.exit(3)" and result.exit_code == 3
    assert (await ScriptExecutor().run(container, "emit_result(1)")).success


async def test_missing_secrets_are_listed_before_anything_runs(container: ManagedContainer) -> None:
    asked = ["GRANTED", "STRIPE_KEY", "NOT_GRANTED"]
    result = await ScriptExecutor().run(container, "print('ran')", required_secrets=asked)
    assert not result.success and result.stdout == ""
    assert result.error == "Missing required environment variables: ['STRIPE_KEY', 'NOT_GRANTED']"
    assert (await ScriptExecutor().run(container, "emit_result(1)", required_secrets=["GRANTED"])).success


async def test_an_exception_has_its_type_and_a_traceback(container: ManagedContainer) -> None:
    result = await ScriptExecutor().run(container, "\n\nraise KeyError('name')")
    assert (result.verdict, result.error) == ("exception", "KeyError: 'name'")
    assert 'File "<agent_script>", line 3' in str(result.traceback)
    assert (await ScriptExecutor().run(container, "raise ValueError")).error == "ValueError"


async def test_an_empty_script_is_a_failed_result(container: ManagedContainer) -> None:
    result = await ScriptExecutor().run(container, "", execution_id="turn")
    assert not result.success and result.execution_id == "turn"
    assert "empty" in str(result.error)


async def test_a_script_that_is_no_text_is_a_failed_result(container: ManagedContainer) -> None:
    result = await ScriptExecutor().run(container, "emit_result(1)  # \ud800")
    assert not result.success


async def test_a_script_has_its_helpers_tools_and_usual_modules(container: ManagedContainer) -> None:
    names = "asyncio datetime json math os re time uuid ToolResponse emit_intermediate emit_log emit_result"
    script = f"emit_result([n for n in {(names + ' slow_echo ask').split()!r} if n not in globals()])"
    assert (await ScriptExecutor().run(container, script)).final_data == []


async def test_async_tools_are_called_without_await(container: ManagedContainer) -> None:
    result = await ScriptExecutor().run(container, "emit_result([slow_echo('a'), ask('b').data])")
    assert result.final_data == ["a", "B"]


async def test_tools_that_answer_at_once_do_not_mix_their_events(container: ManagedContainer) -> None:
    script = """
import threading
def work(number):
    for i in range(50):
        emit_intermediate(str(number), i)
        slow_echo("x")
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for each in threads: each.start()
for each in threads: each.join()
emit_result(1)
"""
    result = await ScriptExecutor().run(container, script)
    assert result.success, result
    for number in "0123":
        told = [each["data"] for each in result.intermediates if each["label"] == number]
        assert told == list(range(50))


@pytest.mark.parametrize(
    ("value", "given"),
    [
        ("None", None),
        ("{1}", [1]),
        ("datetime.date(2026, 1, 2)", "2026-01-02"),
        ("'ü'", "ü"),
        ("10**20", 10**20),
    ],
)
async def test_odd_values_have_a_form(container: ManagedContainer, value: str, given: object) -> None:
    result = await ScriptExecutor().run(container, f"emit_result({value})")
    assert result.success and result.final_data == given


@pytest.mark.parametrize(
    "value", ["float('nan')", "float('inf')", "{(1, 2): 3}", "object()", "10**5000", "'\\ud800'", "loop"]
)
async def test_values_without_a_form_are_an_error_at_once(container: ManagedContainer, value: str) -> None:
    script = f"loop = []\nloop.append(loop)\nemit_result({value})"
    result = await ScriptExecutor(ResourceLimits(execution_timeout_sec=1000)).run(container, script)
    assert result.verdict == "exception" and "emit_result" in str(result.error), result


async def test_the_first_result_counts(container: ManagedContainer) -> None:
    result = await ScriptExecutor().run(container, "emit_result(1); emit_result(2); raise ValueError")
    assert result.success and result.final_data == 1
