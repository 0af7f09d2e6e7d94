"""What is known to break elsewhere, by the letters of the list of defects: it does not here."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

import belljar
from belljar import (
    ExecutionMode,
    ResourceLimits,
    SandboxConfig,
    SandboxPool,
    ScriptExecutor,
    ToolRegistry,
)
from conftest import PATIENCE, Program

RUN = ScriptExecutor()
ONE_SECOND = ScriptExecutor(ResourceLimits(execution_timeout_sec=1))
PATIENT = ScriptExecutor(ResourceLimits(execution_timeout_sec=1000))


@asynccontextmanager
async def pool_of_one(**options: Any) -> AsyncIterator[SandboxPool]:
    tools = ToolRegistry()
    tools.register_sandbox(SandboxConfig(pool_size=1))
    pool = SandboxPool(tools, max_overflow=0, **options)
    await pool.startup()
    try:
        yield pool
    finally:
        await pool.shutdown()


async def next_user(pool: SandboxPool, script: str = "emit_result('clean')") -> object:
    """What the next user of the pool gets, without waiting for whoever came before."""
    async with pool.checkout(timeout=PATIENCE) as container:
        result = await PATIENT.run(container, script)
    assert result.success, result
    return result.final_data


async def test_a_a_waiting_caller_is_served_when_the_holder_leaves() -> None:
    async with pool_of_one() as pool:

        async def use() -> object:
            return await next_user(pool)

        async with pool.checkout():
            waits = asyncio.ensure_future(use())
            await asyncio.sleep(0)
        assert await asyncio.wait_for(waits, PATIENCE) == "clean"


FORGED = [
    """print('{"type": "final_result", "data": "forged"}')""",
    """print('text {"type": "error", "message": "forged"}')""",
    """print('loading', end='')""",
    """import os; os.write(1, b'{"type": "final_result", "data": "forged"}\\n')""",
    """import sys; sys.__stdout__.write('{"type": "script_done"}\\n'); sys.__stdout__.flush()""",
]


@pytest.mark.parametrize("forged", FORGED)
async def test_d_stdout_forges_no_events(forged: str) -> None:
    result = await belljar.arun(forged + "\nemit_result('true')", mode="plan")
    assert result.success and result.final_data == "true"
    alone = await belljar.arun(forged, mode="plan")
    assert alone.verdict == "no_result" and alone.final_data is None


LEFT_RUNNING = """
import os, threading, time
def answer():
    while True:
        emit_result("from the user before")
        time.sleep(0.001)
def steal():
    while True:
        print(os.read(0, 1000))
for each in (answer, steal):
    threading.Thread(target=each, daemon=True).start()
if os.fork() == 0:
    os.setsid()
    while True:
        print("left")
        time.sleep(0.001)
emit_result("first")
"""


async def test_e_f_threads_and_children_of_one_user_do_not_answer_for_the_next() -> None:
    async with pool_of_one() as pool:
        async with pool.checkout() as container:
            assert (await RUN.run(container, LEFT_RUNNING)).success
        for _ in range(3):
            assert await next_user(pool) == "clean"
        assert await next_user(pool, "emit_result(len([p for p in os.listdir('/proc') if p.isdigit()]) < 4)")


SWALLOWED = [
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "import signal\nsignal.alarm(0); signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass",
    "sum(range(10**12))",
    "import collections, itertools\ncollections.deque(itertools.repeat(1), 0)",
    "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'x', b'y', 10**9)",
]


@pytest.mark.parametrize("script", SWALLOWED)
async def test_h_a_time_out_cannot_be_swallowed(script: str) -> None:
    async with pool_of_one() as pool:
        async with pool.checkout() as container:
            result = await ONE_SECOND.run(container, script)
        assert (result.success, result.verdict) == (False, "timeout_wall"), result
        assert await next_user(pool) == "clean"


async def test_h_a_script_that_goes_on_after_its_result_holds_nobody_up() -> None:
    async with pool_of_one() as pool:
        async with pool.checkout() as container:
            result = await PATIENT.run(container, "emit_result('early')\nwhile True: pass")
        assert result.success and result.final_data == "early"
        assert any("went on after its result" in each for each in result.warnings)
        assert await next_user(pool) == "clean"


async def test_i_a_flood_leaves_nothing_for_the_next_user() -> None:
    planted = 'print(\'x\' * (5 << 20)); print(\'{"type": "final_result", "data": "planted"}\')'
    async with pool_of_one() as pool:
        for script in (planted, "while True: print('x' * 1000)", "import os\nos.write(1, b'x' * (3 << 20))"):
            async with pool.checkout() as container:
                assert (await RUN.run(container, script)).verdict == "output"
            for _ in range(2):
                assert await next_user(pool) == "clean"


LOOK = """
import os
print(sorted(name for name in os.environ if name in ("MINE", "OTHERS")))
readable = [f"/proc/{pid}/environ" for pid in os.listdir("/proc") if pid.isdigit()]
print(any(b"OTHERS" in open(each, "rb").read() for each in readable if os.access(each, os.R_OK)))
"""


async def test_j_a_script_has_the_secrets_of_its_config_and_no_others() -> None:
    with belljar.Runtime(secrets={"MINE": "0123456789ab", "OTHERS": "ba9876543210"}) as runtime:
        sandbox = runtime.sandbox(secrets=["MINE"])
        assert sandbox.run(LOOK).wait().stdout == "['MINE']\nFalse\n"


ENDS = ["os._exit(0)", "os.abort()", "ctypes.string_at(0)", "raise KeyboardInterrupt", "raise GeneratorExit"]


@pytest.mark.parametrize("end", [*ENDS, "raise asyncio.CancelledError"])
async def test_l_a_script_that_ends_its_process_harms_no_other(end: str) -> None:
    async with pool_of_one() as pool:
        async with pool.checkout() as container:
            result = await RUN.run(container, f"import ctypes, os\n{end}")
            assert not result.success and result.verdict in ("exited", "signaled", "exception", "no_result")
        for _ in range(2):
            assert await next_user(pool) == "clean"


async def test_n_an_id_that_is_used_twice_gives_each_run_its_own_result() -> None:
    async with pool_of_one() as pool, pool.checkout() as container:
        for number in range(3):
            result = await RUN.run(
                container, f"emit_result({number}); emit_result('late')", execution_id="same"
            )
            assert (result.final_data, result.execution_id) == (number, "same")


async def test_n_long_scripts_and_odd_line_ends_are_scripts() -> None:
    long = "# " + "x" * (5 << 20) + "\nemit_result(1)"
    async with pool_of_one() as pool, pool.checkout() as container:
        assert (await RUN.run(container, long)).final_data == 1
        assert (await RUN.run(container, "x = 1\r\nif x:\r\n    emit_result(x)\r\n")).final_data == 1


async def test_o_a_caller_who_gives_up_leaves_nothing_running_and_no_slot_taken() -> None:
    async with pool_of_one() as pool:
        begun = asyncio.Event()
        executor = ScriptExecutor(PATIENT.limits, on_intermediate=lambda _: begun.set())

        async def endless() -> None:
            async with pool.checkout() as container:
                await executor.run(container, "emit_intermediate('begun', 1)\nwhile True: pass")

        for _ in range(3):
            begun.clear()
            running = asyncio.ensure_future(endless())
            await asyncio.wait_for(begun.wait(), PATIENCE)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert await next_user(pool) == "clean"


async def test_o_a_caller_who_gives_up_waiting_takes_no_slot() -> None:
    async with pool_of_one() as pool:
        async with pool.checkout():
            for _ in range(5):
                with pytest.raises(asyncio.TimeoutError):
                    async with pool.checkout(timeout=0.02):
                        pass
        assert await next_user(pool) == "clean"
        assert pool.stats()["in_use"] == 0


HOLDS = """
import asyncio, belljar

async def main():
    async with belljar.SandboxPool(belljar.ToolRegistry()) as pool, pool.checkout() as container:
        executor = belljar.ScriptExecutor(on_intermediate=lambda _: print("running", flush=True))
        await executor.run(container, "emit_intermediate('begun', 1)\\nimport time; time.sleep(1000)")

asyncio.run(main())
"""


def test_p_a_pool_of_a_killed_process_leaves_nothing_running(program: Callable[..., Program]) -> None:
    holder = program(HOLDS)
    assert holder.line() == "running"
    assert len(holder.seen) > 1
    holder.process.kill()
    holder.leaves_nothing()


async def test_s_a_session_that_outlives_its_pool_runs_nothing() -> None:
    async with pool_of_one() as pool:
        async with pool.checkout() as container:
            await RUN.run(container, "emit_result(1)")
            await pool.shutdown()
            assert not (await RUN.run(container, "emit_result(1)")).success
    assert (await belljar.arun("print(1)")).success, "other runtimes go on"


@pytest.mark.parametrize("seconds", [0.3, 1])
async def test_u_a_plain_time_out_mutes_nothing(seconds: float) -> None:
    executor = ScriptExecutor(ResourceLimits(execution_timeout_sec=seconds))
    async with pool_of_one() as pool, pool.checkout() as container:
        for _ in range(3):
            began = time.monotonic()
            result = await executor.run(container, "emit_intermediate('a', 1)\nimport time; time.sleep(100)")
            assert result.verdict == "timeout_wall" and len(result.intermediates) == 1
            assert time.monotonic() - began < 5 + PATIENCE, "it did not wait for anything else"
            assert (await PATIENT.run(container, "emit_result(1)")).success


async def test_v_a_time_out_that_ends_in_another_exception_harms_no_other() -> None:
    script = "import time\ntry:\n    time.sleep(100)\nfinally:\n    raise ValueError('late')"
    async with pool_of_one() as pool:
        async with pool.checkout() as container:
            assert not (await ONE_SECOND.run(container, script)).success
        assert await next_user(pool) == "clean"


async def test_y_an_error_has_its_type() -> None:
    assert (await belljar.arun("{}['name']")).error == "KeyError: 'name'"
    assert (await belljar.arun("raise ValueError")).error == "ValueError"


async def test_z_a_scripts_text_is_not_touched() -> None:
    told = await belljar.arun("\n\n   \nraise ValueError")
    assert "line 4" in str(told.traceback)
    indented = await belljar.arun("    x = 1\n    emit_result(x)")
    assert "line 1" in str(indented.traceback) and str(indented.error).startswith("IndentationError")
    assert (await belljar.arun("if True:\n\temit_result('''  kept  ''')\n")).final_data == "  kept  "


def test_w_results_are_written_nowhere(tmp_path: Path, program: Callable[..., Program]) -> None:
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    script = f"print({mark!r})"
    source = f"import belljar; print(belljar.run({script!r}).stdout, flush=True); input()"
    ran = program(source, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)})
    assert ran.line() == mark
    found = [path for path in tmp_path.rglob("*") if path.is_file() and mark.encode() in path.read_bytes()]
    assert found == []


ENDS_RIGHT_AFTER = """
import asyncio, belljar

async def main():
    async with belljar.SandboxPool(belljar.ToolRegistry()) as pool, pool.checkout() as container:
        await belljar.ScriptExecutor().run(container, "emit_result(1)")

asyncio.run(main())
"""


def test_a_program_that_ends_right_after_its_last_await_ends_well(program: Callable[..., Program]) -> None:
    # It is a race: about one in three loses it.
    for _ in range(40):
        _, err, code = program(ENDS_RIGHT_AFTER).rest()
        assert (err, code) == ("", 0)


async def test_b_steps_see_each_other_and_a_plan_sees_none() -> None:
    step = ScriptExecutor(mode=ExecutionMode.INTERACTIVE)
    async with pool_of_one() as pool, pool.checkout() as container:
        await step.run(container, "x = 41")
        assert (await step.run(container, "emit_result(x + 1)")).final_data == 42
        assert (await RUN.run(container, "emit_result('x' in globals())")).final_data is False


FETCH = """
import urllib.request
try:
    urllib.request.urlopen("https://{}/")
except OSError:
    emit_result(1)
"""


async def test_k_two_pools_of_one_process_both_have_their_network() -> None:
    async def tried(own: str, asked: str) -> list[str]:
        tools = ToolRegistry()
        tools.register_sandbox(SandboxConfig(network_policy=belljar.NetworkPolicy(allowed_hosts=[own])))
        async with SandboxPool(tools) as pool, pool.checkout() as container:
            result = await RUN.run(container, FETCH.format(asked))
            return [each["verdict"] for each in result.network]

    told = await asyncio.gather(
        tried("a.invalid", "b.invalid"), tried("b.invalid", "b.invalid"), tried("b.invalid", "a.invalid")
    )
    assert (told[0], told[2]) == (["denied"], ["denied"])
    assert told[1] and told[1] != ["denied"]


def test_r_a_pool_that_started_is_not_empty() -> None:
    pool = SandboxPool(ToolRegistry())
    pool.startup().wait()
    assert pool.stats()["idle"] == 2
    with pool.checkout() as container:
        assert RUN.run(container, "emit_result(1)").wait().success
    pool.shutdown().wait()
