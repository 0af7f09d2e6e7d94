"""The sandbox environment for Inspect, with the real library: its own conformance checks, and evaluations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.log import EvalLog  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import includes  # noqa: E402
from inspect_ai.solver import generate, use_tools  # noqa: E402
from inspect_ai.tool import bash, python  # noqa: E402
from inspect_ai.util import (  # noqa: E402
    OutputLimitExceededError,
    SandboxEnvironmentSpec,
    SandboxUserUnsupportedError,
)
from inspect_ai.util._sandbox.limits import override_max_exec_output_size  # noqa: E402
from inspect_ai.util._sandbox.self_check import *  # noqa: E402, F403
from sleepers import Sleeper  # noqa: E402

from belljar.integrations.inspect_ai import BelljarSandboxConfig, BelljarSandboxEnvironment  # noqa: E402
from conftest import eventually  # noqa: E402

# What Inspect's checks ask for and a sandbox of Belljar has not.
LACKING = {"test_exec_as_user": "a cell has one user, who is not root and adds no others"}


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELLJAR_WORKSPACES", str(tmp_path / "store"))


@pytest.fixture
async def sandbox_env(request: pytest.FixtureRequest) -> AsyncIterator[BelljarSandboxEnvironment]:
    reason = LACKING.get(request.node.originalname)
    if reason:
        request.applymarker(pytest.mark.xfail(reason=reason, raises=SandboxUserUnsupportedError, strict=True))
    made = await BelljarSandboxEnvironment.sample_init("task", None, {})
    yield made["default"].as_type(BelljarSandboxEnvironment)
    await BelljarSandboxEnvironment.sample_cleanup("task", None, made, False)


async def test_another_user_is_refused_with_the_one_there_is(sandbox_env: BelljarSandboxEnvironment) -> None:
    with pytest.raises(SandboxUserUnsupportedError, match="cannot run anything as 'root'.* sandbox"):
        await sandbox_env.exec(["id"], user="root")
    for user in ("sandbox", "1000"):
        assert (await sandbox_env.exec(["id", "-un"], user=user)).stdout == "sandbox\n"


async def test_a_missing_program_is_a_result_and_no_exception(sandbox_env: BelljarSandboxEnvironment) -> None:
    ended = await sandbox_env.exec(["no-such-program"])
    assert (ended.success, ended.returncode) == (False, 127)
    assert "No such file" in ended.stderr


async def test_a_missing_directory_is_a_result_and_stays_missing(
    sandbox_env: BelljarSandboxEnvironment,
) -> None:
    ended = await sandbox_env.exec(["pwd"], cwd="nowhere")
    assert ended.returncode == 2 and "nowhere" in ended.stderr
    assert (await sandbox_env.exec(["ls"])).stdout == ""


async def test_words_of_the_shell_are_no_commands(sandbox_env: BelljarSandboxEnvironment) -> None:
    assert (await sandbox_env.exec(["exit", "0"])).returncode == 127
    assert (await sandbox_env.exec(["echo", "$HOME; ls"])).stdout == "$HOME; ls\n"


async def test_files_in_tmp_stay_change_and_go(sandbox_env: BelljarSandboxEnvironment) -> None:
    async def shell(line: str) -> str:
        return (await sandbox_env.exec(["sh", "-c", line])).stdout

    await sandbox_env.write_file("/tmp/a b/one", "1")
    assert await shell("cat '/tmp/a b/one'; echo 2 >/tmp/two; echo 3 >/tmp/.three") == "1"
    assert await sandbox_env.read_file("/tmp/two") == "2\n"
    assert await shell("echo 4 >>/tmp/two; rm -r '/tmp/a b'; cat /tmp/.three") == "3\n"
    assert await sandbox_env.read_file("/tmp/two") == "2\n4\n"
    assert await shell("ls -A /tmp") == ".three\ntwo\n"


async def test_text_that_is_not_utf_8_is_an_error_of_its_own(sandbox_env: BelljarSandboxEnvironment) -> None:
    await sandbox_env.write_file("raw", b"\xff")
    with pytest.raises(UnicodeDecodeError):
        await sandbox_env.read_file("raw")


async def test_files_of_the_system_are_read_and_not_written(sandbox_env: BelljarSandboxEnvironment) -> None:
    assert "sandbox" in await sandbox_env.read_file("/etc/passwd")
    with pytest.raises(PermissionError):
        await sandbox_env.write_file("/etc/passwd", "")
    with pytest.raises(PermissionError):
        await sandbox_env.write_file("/usr/mine", "")


async def test_too_much_output_is_inspects_error(sandbox_env: BelljarSandboxEnvironment) -> None:
    with (
        override_max_exec_output_size(1024),
        pytest.raises(OutputLimitExceededError, match="1 KiB") as caught,
    ):
        await sandbox_env.exec(["sh", "-c", "yes | head -c 2000"])
    assert caught.value.truncated_output is not None and len(caught.value.truncated_output) == 1024
    big = 11 * 1024 * 1024
    with pytest.raises(OutputLimitExceededError, match="10 MiB"):
        await sandbox_env.exec(["head", "-c", str(big), "/dev/zero"])
    with override_max_exec_output_size(2 * big):
        assert len((await sandbox_env.exec(["head", "-c", str(big), "/dev/zero"])).stdout) == big


async def test_a_timeout_kills_the_program_outside_too(sandbox_env: BelljarSandboxEnvironment) -> None:
    sleeper = Sleeper()
    with pytest.raises(TimeoutError, match="longer than 1 seconds"):
        await sandbox_env.exec(["sh", "-c", sleeper.shell], timeout=1)
    eventually("the cell is gone", lambda: not sleeper.runs())


async def test_a_cancelled_exec_kills_its_cell(sandbox_env: BelljarSandboxEnvironment) -> None:
    sleeper = Sleeper()
    task = asyncio.ensure_future(sandbox_env.exec(["sh", "-c", sleeper.shell]))
    while not sleeper.runs():
        assert not task.done()
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    eventually("the cell is gone", lambda: not sleeper.runs())


async def test_samples_share_nothing_and_leave_nothing(tmp_path: Path) -> None:
    first = await BelljarSandboxEnvironment.sample_init("task", None, {})
    second = await BelljarSandboxEnvironment.sample_init("task", None, {})
    await first["default"].write_file("mine", "1")
    with pytest.raises(FileNotFoundError):
        await second["default"].read_file("mine")
    await BelljarSandboxEnvironment.sample_cleanup("task", None, first, True)
    assert len(list(tmp_path.glob("store/*/inspect-*"))) == 1
    await BelljarSandboxEnvironment.cli_cleanup(None)
    assert not list(tmp_path.glob("store/*/inspect-*"))


async def test_a_config_counts_as_a_model_and_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "belljar.toml"
    file.write_text("[resource_limits]\nexecution_timeout_sec = 1\n")
    for config in (BelljarSandboxConfig(timeout=1), str(file)):
        made = await BelljarSandboxEnvironment.sample_init("task", config, {})
        with pytest.raises(TimeoutError):
            await made["default"].exec(["sleep", "30"])
        await BelljarSandboxEnvironment.sample_cleanup("task", config, made, False)
    told = BelljarSandboxConfig(allow_hosts=("example.com",))
    assert BelljarSandboxEnvironment.config_deserialize(told.model_dump()) == told


def evaluate(tmp_path: Path, *calls: tuple[str, dict[str, str]], last: str) -> EvalLog:
    """An evaluation of one sample, with a model that makes these calls and then answers."""
    outputs = [ModelOutput.for_tool_call("mockllm/model", name, given) for name, given in calls]
    outputs.append(ModelOutput.from_content("mockllm/model", last))
    for each in outputs:
        each.usage = ModelUsage()  # Otherwise Inspect counts tokens, and fetches what it counts them by.
    task = Task(
        dataset=[Sample("How many lines?", target="2 rows", files={"rows.csv": "a\nb\n"})],
        solver=[use_tools(bash(timeout=30), python(timeout=30)), generate()],
        scorer=includes(),
        sandbox=SandboxEnvironmentSpec("belljar", BelljarSandboxConfig(memory_mb=128)),
    )
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = eval(task, model=model, display="none", log_dir=str(tmp_path / "logs"))
    return log


def test_an_evaluation_runs_its_tools_in_the_sandbox(tmp_path: Path) -> None:
    log = evaluate(
        tmp_path,
        ("bash", {"command": "wc -l <rows.csv"}),
        ("python", {"code": "print(len(open('rows.csv').readlines()), 'rows')"}),
        last="There are 2 rows.",
    )
    assert log.status == "success", log.error
    assert log.samples is not None and log.samples[0].scores is not None
    said = [each.text for each in log.samples[0].messages if each.role == "tool"]
    assert [each.strip() for each in said] == ["2", "2 rows"]
    assert log.samples[0].scores["includes"].value == "C"
    assert not list(tmp_path.glob("store/*/inspect-*"))
