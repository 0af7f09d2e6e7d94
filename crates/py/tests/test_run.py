"""Runs, files, events, callbacks, sessions."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import pytest

import belljar
from belljar import ExecutionMode, Sandbox, SandboxConfig


def test_a_script_is_what_python_would_make_of_it() -> None:
    result = belljar.run("import sys; print(sys.argv[1:], input())", args=["a", "b"], stdin="hello")
    assert (result.stdout, result.verdict, result.success) == ("['a', 'b'] hello\n", "ok", True)
    assert belljar.run("import sys; sys.exit(3)").exit_code == 3
    failed = belljar.run("1 / 0")
    assert failed.verdict == "exception" and "ZeroDivisionError" in (failed.traceback or "")
    with pytest.raises(belljar.ScriptFailed, match="ZeroDivisionError"):
        failed.raise_for_verdict()


def test_limits_end_a_run_and_say_which() -> None:
    assert belljar.run("while True: pass", timeout=0.3).verdict == "timeout_wall"
    assert belljar.run("x = bytearray(500 << 20)", memory_mb=64).verdict in ("oom", "exception")
    assert belljar.run("print('x' * 5_000_000)").verdict == "output"


def test_files_go_in_and_come_out(tmp_path: Path) -> None:
    (tmp_path / "here.csv").write_text("1,2\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "leaf.txt").write_text("leaf")
    script = """
print(open("text.txt").read(), open("data.bin", "rb").read(), open("here.csv").read().strip())
print(open("tree/leaf.txt").read())
open("out.bin", "wb").write(bytes(range(256)))
"""
    files = {
        "text.txt": "text",
        "data.bin": b"\xff",
        "here.csv": tmp_path / "here.csv",
        "tree": tmp_path / "tree",
    }
    result = belljar.run(script, files=files, collect=["*.bin"])
    assert result.stdout == "text b'\\xff' 1,2\nleaf\n"
    assert result.files.names == ["out.bin"] and result.files["out.bin"].read_bytes() == bytes(range(256))
    written = belljar.run(script, files=files, collect="out.*", collect_into=tmp_path / "out")
    assert written.files[0].path == tmp_path / "out/out.bin"
    assert belljar.run("print(open('here.csv').read())", files=[tmp_path / "here.csv"]).stdout == "1,2\n\n"


def test_a_script_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "chart.py"
    path.write_text("print(__file__.rsplit('/')[-1])\n1/0\n")
    result = belljar.run(path)
    assert result.stdout == "chart.py\n" and "chart.py" in (result.traceback or "")
    # Text is text, whatever it says: a model may have written it.
    assert "chart.py" not in belljar.run(str(path)).stdout


def test_stdin_can_be_a_stream() -> None:
    script = "import sys; print(sum(len(line) for line in sys.stdin))"
    lines = io.BytesIO(b"line\n" * 100_000)
    assert belljar.run(script, stdin=lines).stdout == "500000\n"
    assert belljar.run(script, stdin=io.StringIO("ü\n")).stdout == "2\n"


def test_events_come_in_order_and_the_last_has_the_result() -> None:
    script = "print('a'); emit_intermediate('half', {'n': 50}); emit_log('m', 'warning'); emit_result(1)"
    events = list(belljar.stream(script))
    assert [event.type for event in events] == [
        "stdout",
        "intermediate",
        "log",
        "final_result",
        "script_done",
        "ended",
    ]
    assert [event["seq"] for event in events] == list(range(6))
    ended = events[-1].result
    assert (
        ended is not None
        and ended.final_data == 1
        and ended.intermediates == [{"label": "half", "data": {"n": 50}}]
    )


def test_many_events_are_all_there() -> None:
    script = "for i in range(5000): emit_intermediate('n', i)"
    seen = [event["data"] for event in belljar.stream(script) if event.type == "intermediate"]
    assert seen == list(range(5000))


def test_callbacks_that_fail_are_logged_and_end_nothing(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[object] = []

    async def later(event: belljar.Event) -> None:
        heard.append(event["data"])
        raise ValueError("not mine")

    script = "emit_intermediate('a', 1); emit_intermediate('b', 2); print('x'); emit_result(3)"
    with caplog.at_level(logging.ERROR, "belljar"):
        sandbox = Sandbox()
        result = sandbox.run(
            script, on_intermediate=later, on_stdout=lambda it: heard.append(it["text"])
        ).wait()
    assert (result.final_data, heard) == (3, [1, 2, "x\n"])
    assert sum("not mine" in str(record.exc_info) for record in caplog.records) == 2


async def test_a_slow_callback_holds_the_script_up_and_loses_nothing() -> None:
    import asyncio

    count = 0

    async def slow(_: belljar.Event) -> None:
        nonlocal count
        count += 1
        await asyncio.sleep(0)

    script = "for i in range(3000): emit_intermediate('n', i)"
    result = await Sandbox().run(script, on_intermediate=slow)
    assert (count, len(result.intermediates)) == (3000, 3000)


def test_displays_show_themselves() -> None:
    result = belljar.run("class T:\n    def _repr_html_(self): return '<b>hi</b>'\ndisplay(T())")
    bundle = result.displays[0]._repr_mimebundle_()
    assert "&lt;b&gt;hi&lt;/b&gt;" in bundle["text/html"] and result._repr_mimebundle_() == bundle
    assert result.displays[0].data["text/html"] == "<b>hi</b>"


def test_a_notebook_runs_nothing_that_a_script_shows() -> None:
    script = """
display({
    "application/javascript": "alert(1)",
    "text/html": "<script>alert(1)</script>",
    "application/vnd.jupyter.widget-view+json": {"model_id": "1"},
    "text/plain": "p",
}, raw=True)
"""
    bundle = belljar.run(script).displays[0]._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/html"].startswith('<iframe sandbox=""') and "<script" not in bundle["text/html"]


def test_a_session_keeps_variables_and_files() -> None:
    with belljar.Session() as session:
        session.files.put("in.txt", "given").wait()
        session.step("x = open('in.txt').read(); open('out.txt', 'w').write(x * 2)").wait()
        assert session.files.read("out.txt").wait() == b"givengiven"
        assert [entry.path for entry in session.files.list().wait()] == ["in.txt", "out.txt"]
        assert [variable.name for variable in session.variables().wait()] == ["x"]
        assert session.complete("x.upp").wait() == ["upper"]
        shown = session.step("x").wait()
        assert shown.stdout == "'given'\n"
    with pytest.raises(belljar.SessionOver):
        session.step("x").wait()


def test_calls_of_the_same_config_share_a_sandbox_and_others_do_not() -> None:
    seen = [belljar._divided({"memory_mb": memory})[0] for memory in (100, 100, 101)]
    assert seen[0] is seen[1] and seen[1] is not seen[2]
    for number in range(20):
        belljar._divided({"memory_mb": 200 + number})
    assert len(belljar._recent) <= 8
    # A config is what it says, also after it was changed.
    config = SandboxConfig()
    first = belljar._divided({"config": config})[0]
    config.pool_size = 1
    assert belljar._divided({"config": config})[0] is not first


def test_two_runs_share_nothing() -> None:
    sandbox = Sandbox()
    sandbox.run("import builtins; builtins.left = 1; open('left', 'w').write('x')").wait()
    script = "import builtins, os; print(hasattr(builtins, 'left'), os.listdir())"
    assert sandbox.run(script).wait().stdout == "False []\n"


def test_a_config_is_checked_when_it_is_made() -> None:
    for broken in (
        lambda: belljar.ResourceLimits(memory_mb=-1),
        lambda: belljar.ResourceLimits(memory_mb=512, memory_swap_mb=256),
        lambda: belljar.NetworkPolicy(allowed_hosts=["a:1"]),
        lambda: SandboxConfig(name="a/b"),
        lambda: SandboxConfig(resources=[belljar.FileResource("/tmp", "/etc")]),
        lambda: Sandbox(pool_size=-1),
    ):
        with pytest.raises(ValueError, match="is invalid|invalid value|out of range"):
            broken()
    with pytest.raises(TypeError, match="memory"):
        Sandbox(memory=12)


def test_a_config_survives_its_own_forms() -> None:
    config = SandboxConfig(
        "analytics",
        dependencies=["pandas"],
        resources=[belljar.FileResource("/srv", "/data/srv")],
        network_policy=belljar.NetworkPolicy(
            ["api.example.com"],
            inject=[belljar.Injection("api.example.com", "X-Key", "KEY", terminate_tls=True)],
        ),
        execution_mode=ExecutionMode.INTERACTIVE,
    )
    assert SandboxConfig.from_dict(config.to_dict()) == config
    assert (
        SandboxConfig.from_toml('name = "x"\n[resource_limits]\nmemory_mb = 99\n').resource_limits.memory_mb
        == 99
    )


def test_bad_requests_are_refused_before_anything_runs() -> None:
    sandbox = Sandbox(SandboxConfig())
    broken: list[tuple[str, dict[str, Any], str]] = [
        ("", {}, "empty"),
        ("print(1)", {"timeout": -1}, "-1"),
        ("print(1)", {"files": {"../x": "1"}}, r"\.\."),
        ("print(1)", {"collect": ["/abs"]}, "relative"),
        ("a\0b", {}, "NUL"),
    ]
    for script, options, said in broken:
        with pytest.raises(ValueError, match=said):
            sandbox.run(script, **options).wait()
    with pytest.raises(TypeError, match="colour"):
        sandbox.run("1", colour="red").wait()


def test_a_host_that_is_not_allowed_is_denied_and_told() -> None:
    script = """
import urllib.request, urllib.error
try:
    urllib.request.urlopen("http://evil.example/")
except urllib.error.HTTPError as error:
    print(error.code)
"""
    result = belljar.run(script, allow_hosts=["api.example.com"])
    assert result.stdout == "403\n" and result.network[0]["verdict"] == "denied"


def test_secrets_reach_the_script_and_nobody_else() -> None:
    with belljar.Runtime(secrets={"KEY": "hunter2-hunter2"}) as runtime:
        sandbox = runtime.sandbox(secrets=["KEY"])
        result = sandbox.run("import os; print(os.environ['KEY'], len(os.environ['KEY']))").wait()
        assert result.stdout == "*** 15\n" and "hunter2" not in repr(sandbox) + repr(runtime)


def test_what_is_closed_says_so() -> None:
    runtime = belljar.Runtime()
    sandbox = runtime.sandbox()
    sandbox.run("1").wait()
    sandbox.close().wait()
    with pytest.raises(belljar.errors.Closed):
        sandbox.run("1").wait()
    other = runtime.sandbox()
    runtime.shutdown().wait()
    with pytest.raises(belljar.errors.Closed):
        other.run("1").wait()


def test_no_cell_in_time_is_a_timeout() -> None:
    with belljar.Runtime(max_overflow=0, checkout_timeout=0.2) as runtime:
        sandbox = runtime.sandbox(pool_size=1)
        with sandbox.session():
            with pytest.raises(TimeoutError):
                sandbox.session().open().wait()


def test_stdin_of_text_is_whole_and_what_is_no_stdin_is_refused(tmp_path: Path) -> None:
    script = "import sys; print(len(sys.stdin.buffer.read()))"
    (tmp_path / "in.txt").write_text("é" * 50_000, encoding="utf-8")
    with open(tmp_path / "in.txt", encoding="utf-8") as file:
        assert belljar.run(script, stdin=file).stdout == "100000\n"
    assert belljar.run(script, stdin=tmp_path / "in.txt").stdout == "100000\n"
    assert belljar.run(script, stdin=bytearray(b"abc")).stdout == "3\n"
    with pytest.raises(TypeError, match="stdin"):
        belljar.run(script, stdin=5)


def test_wrong_arguments_are_named() -> None:
    broken: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"timeout": float("nan")}, ValueError, "timeout"),
        ({"timeout": "1"}, TypeError, "timeout"),
        ({"cpu_time": 1e19}, ValueError, "invalid"),
        ({"cpu_time": 0}, ValueError, "0 s is invalid"),
        ({"args": "--year"}, TypeError, "args"),
        ({"on_stdout": 5}, TypeError, "on_stdout"),
    ]
    for options, kind, said in broken:
        with pytest.raises(kind, match=said):
            belljar.run("print(1)", **options)


def test_a_failure_can_be_pickled_and_copied() -> None:
    import copy
    import pickle

    failed = belljar.ScriptFailed(belljar.run("1 / 0"))
    for twin in (pickle.loads(pickle.dumps(failed)), copy.copy(failed)):
        assert twin.result.verdict == "exception" and str(twin) == str(failed)


def test_a_run_that_is_cancelled_before_it_begins_is_cancelled() -> None:
    execution = belljar.stream("while True: pass", timeout=1000)
    execution.cancel()
    assert execution.result().wait().verdict == "cancelled"


async def test_a_run_has_one_reader() -> None:
    import asyncio

    execution = Sandbox().stream("print('a')")

    async def read() -> list[str]:
        return [event.type async for event in execution]

    first, second = await asyncio.gather(read(), read(), return_exceptions=True)
    assert first == ["stdout", "script_done", "ended"]
    assert isinstance(second, belljar.errors.StepUnderWay) or second == []
