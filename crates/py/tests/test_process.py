"""What becomes of cells when something happens to the process that has them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable

from conftest import PATIENCE, Program, descendants, eventually, of_program

Start = Callable[..., Program]

ENDLESS = "import time\nwhile True: time.sleep(1)"


def test_an_interpreter_that_ends_leaves_no_process(program: Start) -> None:
    ended = program("import belljar; print(belljar.run('print(1)').stdout, flush=True); input()")
    assert ended.line() == "1"
    _, err = ended.process.communicate("\n", timeout=PATIENCE)
    assert (err, ended.process.returncode) == ("", 0)
    ended.leaves_nothing()


def test_a_killed_interpreter_leaves_no_process(program: Start) -> None:
    killed = program(f"import belljar; print(1, flush=True); belljar.run({ENDLESS!r}, timeout=1000)")
    killed.line()
    eventually("it runs", lambda: len(killed.seen.union(_look(killed))) > 2)
    killed.process.kill()
    killed.leaves_nothing()


def _look(of: Program) -> set[int]:
    of.seen |= descendants(of.process.pid)
    return of.seen


def test_ctrl_c_in_a_call_that_waits_raises_and_kills_the_run(program: Start) -> None:
    waits = program(
        f"""
import belljar, time
sandbox = belljar.Sandbox(timeout=1000)
began = None
def heard(event):
    print("runs", flush=True)
try:
    sandbox.run("print('up', flush=True)\\n" + {ENDLESS!r}, on_stdout=heard).wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
idle, in_use, _ = sandbox._opened.cells()
while in_use:
    idle, in_use, _ = sandbox._opened.cells()
print("free", flush=True)
print(sandbox.run("print('again')").wait().stdout.strip(), flush=True)
"""
    )
    assert waits.line() == "runs"
    waits.process.send_signal(signal.SIGINT)
    assert waits.line() == "interrupted"
    assert waits.line() == "free"
    assert waits.line() == "again"
    assert waits.rest()[2] == 0
    waits.leaves_nothing()


def test_ctrl_c_without_callbacks_raises_as_well(program: Start) -> None:
    waits = program(
        f"""
import belljar
sandbox = belljar.Sandbox(timeout=1000).open().wait()
try:
    print("ready", flush=True)
    sandbox.run({ENDLESS!r}).wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    )
    assert waits.line() == "ready"
    waits.process.send_signal(signal.SIGINT)
    assert waits.line() == "interrupted"
    assert waits.rest()[2] == 0
    waits.leaves_nothing()


def test_a_forked_child_has_a_runtime_of_its_own_and_the_parent_keeps_its_own(program: Start) -> None:
    forks = program(
        """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Of forks where there are threads.
import belljar, os, sys
sandbox = belljar.Sandbox()
session = belljar.Session().open().wait()
session.step("x = 1").wait()
print(sandbox.run("print('parent')").wait().stdout.strip(), flush=True)
child = os.fork()
if child == 0:
    try:
        sandbox.run("print(1)").wait()
    except belljar.errors.Forked:
        print("the parent's is not ours", flush=True)
    try:
        session.step("x").wait()
    except belljar.errors.Forked:
        print("nor is its session", flush=True)
    print(belljar.run("print('child')").stdout.strip(), flush=True)
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(session.step("print(x + 1)").wait().stdout.strip(), flush=True)
print(sandbox.run("print('parent still')").wait().stdout.strip(), flush=True)
"""
    )
    assert forks.line() == "parent"
    assert forks.line() == "the parent's is not ours"
    assert forks.line() == "nor is its session"
    assert forks.line() == "child"
    assert forks.line() == "2"
    assert forks.line() == "parent still"
    assert forks.rest()[1:] == ("", 0)
    forks.leaves_nothing()


def test_multiprocessing_works_by_fork_and_by_spawn(tmp_path: Path) -> None:
    source = """
import multiprocessing, sys
import belljar

def square(number):
    return int(belljar.run(f"print({number} ** 2)").stdout)

if __name__ == "__main__":
    belljar.run("print('warm before the fork')")
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, range(4)), flush=True)
"""
    # A spawned child imports `__main__` by its path.
    path = tmp_path / "squares.py"
    path.write_text(source)
    mark = f"BELLJAR_TEST_{os.getpid()}_{id(path)}"
    done = subprocess.run(
        [sys.executable, path],
        env={**os.environ, mark: "1"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
    )
    assert done.stdout.split("\n")[:2] == ["fork [0, 1, 4, 9]", "spawn [0, 1, 4, 9]"], done.stderr
    eventually("nothing of it is left", lambda: not of_program(mark))


def test_a_pool_that_is_collected_leaves_no_process(program: Start) -> None:
    drops = program(
        """
import asyncio, gc, os
import belljar
from belljar import SandboxPool, ToolRegistry

async def main():
    pool = SandboxPool(ToolRegistry())
    await pool.startup()
    async with pool.checkout("default") as container:
        result = await belljar.ScriptExecutor().run(container, "emit_result(1)")
        print(result.final_data, flush=True)

asyncio.run(main())
gc.collect()
input()
"""
    )
    assert drops.line() == "1"
    # It is collected, and the program goes on.
    eventually("its processes are gone", lambda: not drops.left())
    assert drops.process.poll() is None
    drops.process.communicate("\n", timeout=PATIENCE)


def test_a_thread_that_is_forgotten_does_not_keep_the_interpreter(program: Start) -> None:
    exits = program(
        f"""
import belljar, threading
ready = threading.Event()
def runs():
    belljar.Sandbox(timeout=1000).run("print(1)\\n" + {ENDLESS!r}, on_stdout=lambda _: ready.set()).wait()
threading.Thread(target=runs, daemon=True).start()
ready.wait()
print("ends", flush=True)
input()
"""
    )
    assert exits.line() == "ends"
    exits.process.communicate("\n", timeout=PATIENCE)
    assert exits.process.returncode == 0
    exits.leaves_nothing()


def test_a_tool_that_is_still_at_work_does_not_hold_up_the_end(program: Start) -> None:
    ends = program(
        """
import belljar, time
tools = belljar.ToolRegistry()
@tools.tool
def poll_job() -> str:
    "Takes a minute."
    for _ in range(6000):
        time.sleep(0.01)
    return "done"
print(belljar.run("poll_job()", tools=tools, timeout=1).verdict, flush=True)
input()
"""
    )
    assert ends.line() == "timeout_wall"
    _, err = ends.process.communicate("\\n", timeout=PATIENCE)
    assert (ends.process.returncode, err) == (0, "")
    ends.leaves_nothing()


def test_a_handler_of_a_signal_may_run_scripts(program: Start) -> None:
    handles = program(
        """
import belljar, signal
def handle(*_):
    print("in the handler", belljar.run("print(2)").stdout, end="", flush=True)
signal.signal(signal.SIGUSR1, handle)
sandbox = belljar.Sandbox(timeout=1000).open().wait()
print("ready", flush=True)
result = sandbox.run("input()", stdin=open(0)).wait()
print(result.verdict, flush=True)
"""
    )
    assert handles.line() == "ready"
    handles.process.send_signal(signal.SIGUSR1)
    assert handles.line() == "in the handler 2"
    handles.process.communicate("go on\\n", timeout=PATIENCE)
    assert handles.process.returncode == 0
