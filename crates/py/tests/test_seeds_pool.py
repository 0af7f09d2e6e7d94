"""What the documents say of the pool: warm, bounded, first come first served, and clean."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from belljar import (
    ExecutionMode,
    ExecutionResult,
    ManagedContainer,
    ResourceLimits,
    SandboxConfig,
    SandboxPool,
    ScriptExecutor,
    ToolRegistry,
)
from belljar.errors import BelljarError, Closed

RUN = ScriptExecutor()
STEP = ScriptExecutor(mode=ExecutionMode.INTERACTIVE)
ENDLESS = ScriptExecutor(ResourceLimits(execution_timeout_sec=1000))


@asynccontextmanager
async def pool_of(pool_size: int, max_overflow: int = 0, **options: Any) -> AsyncIterator[SandboxPool]:
    tools = ToolRegistry()
    tools.register_sandbox(SandboxConfig(pool_size=pool_size))
    pool = SandboxPool(tools, max_overflow=max_overflow, **options)
    await pool.startup()
    try:
        yield pool
    finally:
        await pool.shutdown()


async def blocked(pool: SandboxPool) -> bool:
    """Whether nobody else gets a sandbox now."""
    try:
        async with pool.checkout(timeout=0.3):
            return False
    except asyncio.TimeoutError:
        return True


async def test_startup_makes_the_cells_ready() -> None:
    async with pool_of(3) as pool:
        assert pool.stats() == {"idle": 3, "in_use": 0, "capacity": 3}


async def test_only_sandboxes_that_were_started_can_be_checked_out() -> None:
    tools = ToolRegistry()
    tools.register_sandbox(SandboxConfig(name="analytics", pool_size=1))
    pool = SandboxPool(tools)
    with pytest.raises(ValueError, match="'default'"):
        pool.checkout("default")
    await pool.startup(["analytics"])
    async with pool.checkout("analytics") as container:
        assert container.sandbox_name == "analytics"
    with pytest.raises(ValueError, match="startup"):
        pool.checkout("default")
    await pool.shutdown()


async def test_beyond_the_pool_and_its_overflow_callers_wait() -> None:
    async with pool_of(1, max_overflow=1) as pool:
        async with pool.checkout(), pool.checkout():
            assert await blocked(pool)
        assert not await blocked(pool)


async def test_a_checkout_that_waits_in_vain_is_an_asyncio_timeout() -> None:
    async with pool_of(1) as pool, pool.checkout():
        with pytest.raises(asyncio.TimeoutError, match="default"):
            async with pool.checkout(timeout=0.05):
                pass


async def test_every_caller_is_served_however_many_wait() -> None:
    async with pool_of(2) as pool:

        async def work(number: int) -> object:
            async with pool.checkout() as container:
                return (await RUN.run(container, f"emit_result({number})")).final_data

        answers = await asyncio.gather(*(work(number) for number in range(64)))
        assert answers == list(range(64))
        assert pool.stats()["in_use"] == 0


async def test_those_who_wait_are_served_first_come_first_served() -> None:
    async with pool_of(1) as pool:
        for _ in range(40):
            served: list[int] = []

            async def work(number: int, served: list[int] = served) -> None:
                async with pool.checkout():
                    served.append(number)

            async with pool.checkout():
                waiting = []
                for number in range(5):
                    waiting.append(asyncio.ensure_future(work(number)))
                    await asyncio.sleep(0)
            await asyncio.gather(*waiting)
            assert served == [0, 1, 2, 3, 4]


async def test_whoever_waits_does_not_get_what_is_checked_out() -> None:
    async with pool_of(1) as pool:

        async def wait_for_it() -> ManagedContainer:
            async with pool.checkout() as other:
                return other

        async with pool.checkout() as container:
            assert (await RUN.run(container, "emit_result(1)")).success
            waits = asyncio.ensure_future(wait_for_it())
            assert await blocked(pool)
            for number in range(3):
                assert (await RUN.run(container, f"emit_result({number})")).success
                assert not waits.done()
        await waits


async def test_uses_are_counted_and_a_container_has_an_id() -> None:
    async with pool_of(1) as pool, pool.checkout() as container:
        assert container.use_count == 0
        for uses in (1, 2, 3):
            await RUN.run(container, "emit_result(1)")
            assert container.use_count == uses
        assert len(container.container_id) == 64


async def test_steps_share_variables_until_the_sandbox_is_given_back() -> None:
    async with pool_of(1) as pool:
        async with pool.checkout() as container:
            await STEP.run(container, "secret_of_mine = 1")
            assert (await STEP.run(container, "emit_result(secret_of_mine)")).final_data == 1
        async with pool.checkout() as container:
            left = await STEP.run(container, "emit_result('secret_of_mine' in globals())")
            assert left.final_data is False


LEAVE = """
import builtins, gc, math, os, subprocess, sys, tempfile, threading, time
math.sqrt = lambda it: -1
sys.modules["left"] = math
os.environ["LEFT"] = "1"
sys.setrecursionlimit(4321)
gc.disable()
for place in ("/workspace", "/tmp", "/dev/shm"):
    os.makedirs(place, exist_ok=True)
    open(place + "/left", "w").write("1")
os.mkdir("/workspace/dark"); os.chmod("/workspace/dark", 0)
threading.Thread(target=lambda: [time.sleep(0.01) for _ in iter(int, 1)], daemon=True).start()
subprocess.Popen(["sleep", "600"])
if os.fork() == 0:
    time.sleep(600)
os.chdir("/")
builtins.len = lambda it: -1
emit_result(1)
"""

LOOK = """
import gc, math, os, sys
places = ("/workspace/left", "/tmp/left", "/dev/shm/left", "/workspace/dark")
emit_result({
    "len": len("ab"),
    "sqrt": math.sqrt(4),
    "module": "left" in sys.modules,
    "env": "LEFT" in os.environ,
    "cwd": os.getcwd(),
    "limit": sys.getrecursionlimit() == 4321,
    "gc": gc.isenabled(),
    "files": [place for place in places if os.path.exists(place)],
    "processes": [
        open(f"/proc/{pid}/cmdline").read() for pid in os.listdir("/proc")
        if pid.isdigit() and "sleep" in open(f"/proc/{pid}/cmdline").read()
    ],
})
"""


async def test_nothing_of_one_checkout_is_seen_by_the_next() -> None:
    async with pool_of(1) as pool:
        async with pool.checkout() as container:
            assert (await RUN.run(container, LEAVE)).success
        async with pool.checkout() as container:
            seen = await RUN.run(container, LOOK)
    assert seen.success, seen
    assert seen.final_data == {
        "len": 2,
        "sqrt": 2.0,
        "module": False,
        "env": False,
        "cwd": "/workspace",
        "limit": False,
        "gc": True,
        "files": [],
        "processes": [],
    }


async def test_one_script_of_a_checkout_leaves_nothing_to_the_next_either() -> None:
    async with pool_of(1) as pool, pool.checkout() as container:
        await RUN.run(container, "left = 1; open('left', 'w'); emit_result(1)")
        seen = await RUN.run(container, "emit_result(['left' in globals(), os.listdir('.')])")
        assert seen.final_data == [False, []]


async def test_the_pipes_carry_one_object_a_line() -> None:
    script = "emit_log('hi', level='warning'); emit_intermediate('half', 1); emit_result({'a': 1})"
    asked = {"execution_id": "one", "script": script, "mode": "plan", "timeout": 10, "required_secrets": []}
    async with pool_of(1) as pool, pool.checkout() as container:
        assert json.loads(await container.stdout_pipe.readline()) == {"type": "ready"}
        for name in ("one", "two"):
            container.stdin_pipe.write(json.dumps({**asked, "execution_id": name}).encode() + b"\n")
            await container.stdin_pipe.drain()
            told: list[dict[str, Any]] = []
            while not told or told[-1]["type"] != "script_done":
                told.append(json.loads(await container.stdout_pipe.readline()))
            assert [each["type"] for each in told] == ["log", "intermediate", "final_result", "script_done"]
            assert {each["execution_id"] for each in told} == {name}
            assert (told[0]["level"], told[0]["message"]) == ("warning", "hi")
            assert (told[1]["label"], told[1]["data"]) == ("half", 1)
            assert told[2]["data"] == {"a": 1}


async def test_the_pipes_tell_errors_and_crashes() -> None:
    async with pool_of(1) as pool, pool.checkout() as container:
        await container.stdout_pipe.readline()
        container.stdin_pipe.write(b'{"execution_id": "a", "script": "raise ValueError(1)"}\n')
        await container.stdin_pipe.drain()
        error = json.loads(await container.stdout_pipe.readline())
        assert (error["type"], error["message"]) == ("error", "ValueError: 1")
        assert "agent_script" in error["traceback"]
        assert json.loads(await container.stdout_pipe.readline())["type"] == "script_done"
        container.stdin_pipe.write(b'{"execution_id": "b", "script": "import os; os.abort()"}\n')
        with pytest.raises(asyncio.IncompleteReadError):
            await container.stdout_pipe.readline()


@pytest.mark.parametrize("crash", ["os.abort()", "raise BaseException", "os.kill(1, 9)"])
async def test_a_crash_is_no_business_of_the_next_checkout(crash: str) -> None:
    async with pool_of(1) as pool:
        for _ in range(3):
            async with pool.checkout() as container:
                assert not (await RUN.run(container, crash)).success
            async with pool.checkout() as container:
                assert (await RUN.run(container, "emit_result(1)")).success


async def test_shutdown_ends_also_what_is_checked_out() -> None:
    async with pool_of(1) as pool:
        begun = asyncio.Event()
        executor = ScriptExecutor(
            ResourceLimits(execution_timeout_sec=1000), on_intermediate=lambda _: begun.set()
        )

        async def endless() -> ExecutionResult:
            async with pool.checkout() as container:
                return await executor.run(container, "emit_intermediate('begun', 1)\nwhile True: pass")

        running = asyncio.ensure_future(endless())
        await begun.wait()
        await pool.shutdown()
        result = await running
        assert not result.success


async def test_a_pool_that_was_shut_down_hands_out_nothing() -> None:
    async with pool_of(1) as pool:
        async with pool.checkout() as container:
            await pool.shutdown()
            assert not (await RUN.run(container, "emit_result(1)")).success
        with pytest.raises(Closed):
            pool.checkout()


async def test_a_sandbox_that_cannot_be_made_is_an_error_of_startup() -> None:
    tools = ToolRegistry()
    tools.register_sandbox(SandboxConfig(secrets=["HAS_NO_VALUE_ANYWHERE"]))
    with pytest.raises(BelljarError, match="HAS_NO_VALUE_ANYWHERE"):
        await SandboxPool(tools).startup()


async def test_a_secret_without_a_value_is_looked_up_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FROM_THE_ENVIRONMENT", "0123456789ab")
    tools = ToolRegistry()
    tools.register_sandbox(SandboxConfig(secrets=["FROM_THE_ENVIRONMENT"]))
    async with SandboxPool(tools) as pool, pool.checkout() as container:
        result = await RUN.run(container, "emit_result(len(os.environ['FROM_THE_ENVIRONMENT']))")
    assert result.final_data == 12
