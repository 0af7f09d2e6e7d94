"""Workspaces, programs and artifacts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import belljar
from belljar import Artifacts, Workspaces
from conftest import eventually


@pytest.fixture
def workspaces(tmp_path: Path) -> Iterator[Workspaces]:
    tmp_path.chmod(0o700)
    yield Workspaces(tmp_path / "store")


def test_a_workspace_outlives_its_programs(workspaces: Workspaces) -> None:
    job = workspaces.workspace("job")
    job.put("in/data.csv", "a,b\n1,2\n").wait()
    counted = job.run("wc", "-l", "in/data.csv").wait()
    assert (counted.stdout, counted.success) == ("2 in/data.csv\n", True)
    job.run("sh", "-c", "echo $NAME > out/hello.txt; cat", env={"NAME": "you"}, stdin="typed").wait()
    assert job.read_text("out/hello.txt").wait() == "you\n"
    assert [file.text for file in job.collect("out/*.txt").wait()] == ["you\n"]
    assert workspaces.find("job").wait().exists("out/hello.txt").wait()
    assert workspaces.list().wait() == ["job"]
    job.remove().wait()
    assert workspaces.list().wait() == []


def test_what_is_not_there_is_not_found(workspaces: Workspaces) -> None:
    with pytest.raises(FileNotFoundError):
        workspaces.find("nobody").wait()
    job = workspaces.workspace("job")
    with pytest.raises(FileNotFoundError):
        job.read("nothing").wait()
    assert not job.exists("nothing").wait()
    with pytest.raises(OSError):
        job.put("../escape", "x").wait()


def test_how_a_program_ends_is_told(workspaces: Workspaces) -> None:
    job = workspaces.workspace("job")
    assert job.run("sh", "-c", "echo no >&2; exit 3").wait().exit_code == 3
    late = job.run("sleep", "1000", timeout=0.2).wait()
    assert late.timed_out and not late.success
    assert job.run("sh", "-c", "kill -9 $$").wait().signal == 9


def test_a_program_is_talked_to(workspaces: Workspaces) -> None:
    job = workspaces.workspace("job")
    with job.start("python3", "-c", "print(input().upper()); print(input())") as program:
        program.write("hello", newline=True).wait()
        seen = ""

        def has_answered() -> bool:
            nonlocal seen
            seen += program.poll().wait().text
            return "HELLO\n" in seen

        eventually("it answers", has_answered)
        program.write("bye\n").wait()
        result = program.result().wait()
        assert (result.exit_code, result.stdout) == (0, "HELLO\nbye\n")
        assert program.log().wait()["output"] == "HELLO\nbye"


def test_a_program_has_a_terminal_and_takes_signals(workspaces: Workspaces) -> None:
    job = workspaces.workspace("job")
    with job.start("sh", "-c", "stty size; cat", tty=True, rows=12, cols=34) as program:
        seen = b""

        def has_size() -> bool:
            nonlocal seen
            seen += program.poll().wait().data
            return b"12 34" in seen

        eventually("it tells its size", has_size)
        program.resize(20, 40).wait()
        program.signal(signal.SIGTERM).wait()
        assert program.result().wait().signal == signal.SIGTERM


def test_forks_are_independent_and_compared(workspaces: Workspaces) -> None:
    job = workspaces.workspace("job")
    job.put("same", "1").wait()
    twin = job.fork("twin").wait()
    twin.put("new", "22").wait()
    found = [(each.path, each.change, each.size_after) for each in job.diff(twin).wait()]
    assert found == [("new", "added", 2)]
    assert not job.exists("new").wait()


async def test_a_program_that_is_given_up_is_killed(workspaces: Workspaces) -> None:
    import asyncio

    job = await workspaces.workspace("job").open()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(job.run("sleep", "1000"), 0.5)
    # A workspace in use cannot be removed.
    await job.remove()


def test_artifacts_have_versions(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path, app="a", user="u", session="s")
    assert artifacts.save("chart.png", b"\x89PNG").wait() == 0
    assert artifacts.save("chart.png", b"2").wait() == 1
    found = artifacts.load("chart.png").wait()
    assert found is not None and found == (b"2", "image/png", 1)
    assert artifacts.versions("chart.png").wait() == [0, 1]
    assert Artifacts(tmp_path, app="a", user="u", session="s").list().wait() == ["chart.png"]
    assert Artifacts(tmp_path, app="a", user="u", session="other").list().wait() == []
    artifacts.delete("chart.png").wait()
    assert artifacts.load("chart.png").wait() is None


def test_the_command_and_the_package_share_workspaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess

    from belljar.runtime import command

    program = command()
    if program is None:
        pytest.skip("the belljar command is not installed beside the package")
    tmp_path.chmod(0o700)
    monkeypatch.setenv("BELLJAR_WORKSPACES", str(tmp_path / "ws"))
    belljar.Workspace("shared").put("a.txt", "from python\n").wait()
    seen = subprocess.run(
        [program, "ws", "run", "shared", "--", "cat", "a.txt"], capture_output=True, text=True
    )
    assert seen.stdout == "from python\n", seen.stderr
