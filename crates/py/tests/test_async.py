"""Awaiting: on every kind of loop, many at once, and given up."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import belljar
from belljar import Sandbox
from conftest import eventually


def in_use(sandbox: Sandbox) -> int:
    """How many of its cells are taken."""
    assert sandbox._opened is not None
    return sandbox._opened.cells()[1]


async def test_a_run_that_is_given_up_is_killed() -> None:
    sandbox = await Sandbox(timeout=1000).open()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(sandbox.run("while True: pass"), 0.2)
    eventually("its cell is gone", lambda: in_use(sandbox) == 0)
    assert (await sandbox.run("print(1)")).stdout == "1\n"


async def test_a_stream_that_is_left_is_killed() -> None:
    sandbox = await Sandbox(timeout=1000).open()
    async for event in sandbox.stream("print('up', flush=True)\nwhile True: pass"):
        assert event.type == "stdout"
        break
    eventually("its cell is gone", lambda: in_use(sandbox) == 0)


async def test_a_cancelled_run_has_a_result() -> None:
    execution = Sandbox(timeout=1000).stream("print('up', flush=True)\nwhile True: pass")
    async for event in execution:
        if event.type == "stdout":
            execution.cancel()
    result = await execution.result()
    assert (result.verdict, result.stdout) == ("cancelled", "up\n")


async def test_an_interrupted_step_keeps_the_variables() -> None:
    async with belljar.Session(timeout=1000) as session:
        await session.step("x = 41")

        def heard(_: belljar.Event) -> None:
            session.interrupt()

        stopped = await session.step(
            "print('up', flush=True)\nimport time\ntime.sleep(1000)", on_stdout=heard
        )
        assert stopped.verdict == "cancelled"
        assert (await session.step("emit_result(x + 1)")).final_data == 42


async def test_a_step_that_is_given_up_ends_its_session() -> None:
    async with belljar.Session(timeout=1000) as session:
        await session.step("x = 1")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(session.step("while True: pass"), 0.2)
        with pytest.raises(belljar.SessionOver):
            await session.step("x")
        assert not session.is_alive


async def test_a_thousand_awaits_on_one_pool_all_end_and_first_come_is_first_served() -> None:
    runtime = belljar.Runtime(max_overflow=2)
    async with runtime, runtime.sandbox(pool_size=2) as sandbox:
        order: list[int] = []

        async def one(number: int) -> int:
            result = await sandbox.run(f"emit_result({number})")
            order.append(number)
            return int(result.final_data)

        found = await asyncio.gather(*[one(number) for number in range(1000)])
        assert found == list(range(1000))
        # Four at a time: nobody is overtaken by more than a few.
        late = max(position - number for position, number in enumerate(order))
        assert late < 100, late


def test_a_loop_that_is_closed_in_the_middle_disturbs_nothing() -> None:
    async def begin() -> None:
        task = asyncio.ensure_future(belljar.arun("while True: pass", timeout=1000))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(begin())
    assert belljar.run("print(1)").stdout == "1\n"


def test_loops_of_several_threads_share_a_sandbox() -> None:
    sandbox = Sandbox()

    async def some(name: str) -> list[str]:
        results = await asyncio.gather(*[sandbox.run(f"print('{name}', {it})") for it in range(5)])
        return [result.stdout for result in results]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda name: asyncio.run(some(name)), "abcd"))
    assert found == [[f"{name} {it}\n" for it in range(5)] for name in "abcd"]


def test_the_interpreter_is_free_while_a_run_is_waited_for() -> None:
    sandbox = Sandbox().open().wait()
    ticks = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    sandbox.run("import time; time.sleep(0.5)").wait()
    stop.set()
    counter.join()
    # Held, it would not have ticked at all.
    assert ticks > 5, ticks


def test_a_run_can_be_waited_for_where_a_loop_runs() -> None:
    # As in a notebook, whose cells run inside of a loop.
    async def cell() -> str:
        return belljar.run("print(shout('a').data)", tools=[shout]).stdout

    async def shout(text: str) -> str:
        "Says it louder."
        await asyncio.sleep(0)
        return text.upper()

    assert asyncio.run(cell()) == "A\n"


def test_uvloop_is_a_loop_like_any_other() -> None:
    uvloop = pytest.importorskip("uvloop")
    loop = uvloop.new_event_loop()
    try:
        assert loop.run_until_complete(belljar.arun("print(1)")).stdout == "1\n"
    finally:
        loop.close()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio_and_trio_await_and_cancel(backend: str) -> None:
    anyio = pytest.importorskip("anyio")
    pytest.importorskip("trio")
    sandbox = Sandbox(timeout=1000)

    async def main() -> str:
        with anyio.move_on_after(0.3) as scope:
            await sandbox.run("while True: pass")
        assert scope.cancelled_caught
        events = [event.type async for event in sandbox.stream("print(1)")]
        assert events == ["stdout", "script_done", "ended"]
        return (await sandbox.run("print(2)")).stdout

    assert anyio.run(main, backend=backend) == "2\n"
    eventually("the cell is gone", lambda: in_use(sandbox) == 0)


def test_awaiting_without_a_loop_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match="call wait"):
        belljar.Sandbox().run("print(1)").__await__().send(None)


def test_a_pending_can_be_begun_again() -> None:
    pending = Sandbox().run("import random; emit_result(random.random())")
    assert pending.wait().final_data != pending.wait().final_data


async def test_a_pending_is_a_coroutine_for_tasks() -> None:
    sandbox = Sandbox(timeout=1000)
    task = asyncio.create_task(sandbox.run("print(1)"))
    assert (await task).stdout == "1\n"
    endless = asyncio.create_task(sandbox.run("while True: pass"))
    await asyncio.sleep(0)
    endless.cancel()
    with pytest.raises(asyncio.CancelledError):
        await endless
    eventually("its cell is gone", lambda: in_use(sandbox) == 0)


def test_things_that_take_time_are_made_of_others() -> None:
    sandbox = Sandbox()

    async def both() -> str:
        return (await sandbox.run("print(1)")).stdout + (await sandbox.run("print(2)")).stdout

    assert belljar.Pending(both).wait() == "1\n2\n" == asyncio.run(both()).replace("\r", "")

    async def in_a_loop() -> str:
        return belljar.Pending(both).wait()

    assert asyncio.run(in_a_loop()) == "1\n2\n"


def test_asyncio_run_takes_a_pending() -> None:
    assert asyncio.run(Sandbox().run("print(1)")).stdout == "1\n"


def test_a_wait_has_a_time_limit_of_its_own() -> None:
    sandbox = Sandbox(timeout=1000).open().wait()
    with pytest.raises(TimeoutError):
        sandbox.run("while True: pass").wait(0.2)
    eventually("its cell is gone", lambda: in_use(sandbox) == 0)
    with pytest.raises(TimeoutError):
        sandbox.run("print(1)\nwhile True: pass", on_stdout=lambda _: None).wait(0.2)


async def test_a_pending_can_be_a_task_twice() -> None:
    pending = Sandbox().run("emit_result(1)")
    for _ in range(2):
        assert (await asyncio.create_task(pending)).final_data == 1


def test_a_slow_callback_does_not_swallow_the_limit_of_a_wait() -> None:
    async def slow(_: belljar.Event) -> None:
        await asyncio.sleep(30)

    with pytest.raises(TimeoutError):
        Sandbox().run("print(1)", on_stdout=slow).wait(0.5)
