"""A sandbox environment for Inspect: the tools and scorers of an evaluation run in Belljar.

    import belljar.integrations.inspect_ai  # registers it

    Task(dataset=…, solver=…, sandbox="belljar")
    Task(dataset=…, solver=…, sandbox=("belljar", "belljar.toml"))

Each sample has a workspace of its own, and each `exec` a fresh cell in it:

    /workspace/work   the working directory: relative paths are below it
    /workspace/tmp    what programs left in /tmp; the next one finds it there
    elsewhere         read-only, or gone with the cell

Programs run as one user, who is not root. Processes that a program leaves behind end with it, so
Inspect's own background tools (`bash_session`, `exec_remote`) do not work here; `bash` and `python` do.
"""

from __future__ import annotations

import errno
import os
import shlex
import uuid
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Optional, Union, overload

from ..config import SandboxConfig
from ..errors import BelljarError
from ..workspace import ProgramResult, Workspace, Workspaces
from . import missing

try:
    from inspect_ai.util import (
        ExecResult,
        OutputLimitExceededError,
        SandboxConnection,
        SandboxEnvironment,
        SandboxEnvironmentConfigType,
        SandboxEnvironmentLimits,
        SandboxUserUnsupportedError,
        sandboxenv,
    )
    from inspect_ai.util._sandbox.environment import SandboxUnavailableError
    from pydantic import BaseModel
except ImportError as error:
    raise missing("inspect-ai") from error

__all__ = ["BelljarSandboxConfig", "BelljarSandboxEnvironment"]

_ROOT, _WORK = "/workspace", "/workspace/work"
_USERS = ("sandbox", "1000")
_PREFIX = "inspect-"
_A_DAY = 86_400.0  # The longest that Belljar lets anything run.
# A command with more bytes than this is written to a file: Belljar takes a MiB of arguments.
_MOST_ARGUMENTS = 900 * 1024
_NOT_STARTED = 126

# Runs a command in a directory. /tmp is the cell's own and ends with it, so what is to stay is kept in
# the workspace, and linked from /tmp.
_LAUNCH = """
keep=/workspace/tmp
mkdir -p "$keep"
for it in "$keep"/* "$keep"/.[!.]*; do
    if [ -e "$it" ] || [ -L "$it" ]; then ln -s "$it" /tmp/; fi
done
before=$(ls -A "$keep")
cd "$1" || exit 2
shift
/usr/bin/env -- "$@"
code=$?
printf '%s\\n' "$before" | while IFS= read -r name; do
    if [ -n "$name" ] && [ ! -L "/tmp/$name" ] && [ ! -e "/tmp/$name" ]; then rm -rf "$keep/$name"; fi
done
for it in /tmp/* /tmp/.[!.]*; do
    if [ -e "$it" ] && [ ! -L "$it" ]; then rm -rf "$keep/${it##*/}" && mv "$it" "$keep/"; fi
done
exit $code
"""
_WRITE = 'if [ -d "$1" ]; then exit 21; fi; mkdir -p "$(dirname -- "$1")" && cat >"$1"'
_LOOK = """
if [ ! -e "$1" ]; then exit 2; fi
if [ -d "$1" ]; then exit 21; fi
if [ ! -r "$1" ]; then exit 13; fi
stat -L -c %s -- "$1" && realpath -- "$1"
"""
_ERRNO = {2: errno.ENOENT, 13: errno.EACCES, 21: errno.EISDIR}


class BelljarSandboxConfig(BaseModel, frozen=True):
    """What a sample's programs may use and reach, for `SandboxEnvironmentSpec("belljar", …)`."""

    dependencies: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    memory_mb: Optional[int] = None
    cpus: Optional[float] = None
    timeout: float = _A_DAY
    """Seconds that a program may take if `exec` does not say."""
    store: Optional[str] = None
    """The directory of the workspaces. Otherwise it is the one that `belljar ws` has."""


@sandboxenv(name="belljar")
class BelljarSandboxEnvironment(SandboxEnvironment):
    """The workspace of one sample."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Optional[SandboxEnvironmentConfigType], metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Makes the workspace of a sample."""
        workspace = _workspaces(config).workspace(f"{_PREFIX}{uuid.uuid4().hex[:16]}")
        return {"default": cls(await workspace.open())}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: Optional[SandboxEnvironmentConfigType],
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Removes the workspaces of a sample, with all that is in them."""
        for environment in environments.values():
            await environment.as_type(BelljarSandboxEnvironment).workspace.remove()

    @classmethod
    async def cli_cleanup(cls, id: Optional[str]) -> None:
        """Removes workspaces that evaluations left behind: one, or all."""
        workspaces = Workspaces()
        for each in await workspaces.list():
            if each == id or (id is None and each.startswith(_PREFIX)):
                await workspaces.remove(each)

    @classmethod
    def config_files(cls) -> list[str]:
        """The config that is found by itself beside a task."""
        return ["belljar.toml"]

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """A config, as a log has it."""
        return BelljarSandboxConfig(**config)

    @classmethod
    def default_concurrency(cls) -> Optional[int]:
        """How many samples run at a time."""
        return 2 * (os.cpu_count() or 1)

    def default_polling_interval(self) -> float:
        """Nothing here is far away."""
        return 0.2

    async def connection(self, *, user: Optional[str] = None) -> SandboxConnection:
        """How a person gets in."""
        _check(user)
        return SandboxConnection(type="belljar", command=f"belljar ws shell {shlex.quote(self.workspace.id)}")

    async def exec(
        self,
        cmd: list[str],
        input: Union[str, bytes, None] = None,
        cwd: Optional[str] = None,
        env: Optional[dict[str, str]] = None,
        user: Optional[str] = None,
        timeout: Optional[int] = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Runs a command in a fresh cell. A timeout kills it for certain, so it is not tried again."""
        _check(user)
        ended = await self._launch(cmd, input, cwd, env, timeout)
        if ended.exit_code == _NOT_STARTED and ended.stderr.endswith("Permission denied\n"):
            raise PermissionError(errno.EACCES, ended.stderr.strip(), cmd[0])
        stdout = await self._whole(ended, "stdout", ended.stdout_bytes)
        stderr = await self._whole(ended, "stderr", ended.stderr_bytes)
        code = ended.exit_code if ended.exit_code >= 0 else 128 + (ended.signal or 9)
        if ended.exit_code < 0:
            stderr += f"\nthe program was ended: {ended.verdict}"
        return ExecResult(success=code == 0, returncode=code, stdout=stdout, stderr=stderr)

    async def _launch(
        self,
        cmd: list[str],
        input: Union[str, bytes, None] = None,
        cwd: Optional[str] = None,
        env: Optional[dict[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> ProgramResult:
        directory, file = _path(cwd or "."), None
        try:
            if sum(len(part) + 1 for part in cmd) > _MOST_ARGUMENTS:
                file = f"runs/command-{uuid.uuid4().hex}"
                await self.workspace.put(file, f"exec /usr/bin/env -- {shlex.join(cmd)}\n")
                cmd = ["/bin/sh", f"{_ROOT}/{file}"]
            ended = await self.workspace.run(
                "/bin/sh", "-c", _LAUNCH, "sh", directory, *cmd, stdin=input or b"", env=env, timeout=timeout
            )
            if file is not None:
                await self.workspace.remove_file(file)
        except BelljarError as error:
            raise SandboxUnavailableError(str(error)) from error
        if ended.timed_out:
            raise TimeoutError(f"the command took longer than {timeout} seconds: {shlex.join(cmd)[:200]}")
        return ended

    async def _whole(self, ended: ProgramResult, stream: str, kept: bytes) -> str:
        """All that a stream has, if that is within Inspect's limit."""
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        missing_part = ended.truncated.get(stream)
        if max(len(kept), missing_part["total_bytes"] if missing_part else 0) > limit:
            said = kept[:limit].decode("utf-8", "replace")
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, said)
        if missing_part:
            kept = await self.workspace.read(missing_part["spill"])
        return kept.decode("utf-8", "replace")

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        """Writes a file, and the directories above it."""
        path = _path(file)
        ended = await self._launch(["/bin/sh", "-c", _WRITE, "sh", path], contents)
        if ended.exit_code != 0:
            raise _refused(ended, file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...
    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...
    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        """Reads a file."""
        ended = await self._launch(["/bin/sh", "-c", _LOOK, "sh", _path(file)])
        if ended.exit_code != 0:
            raise _refused(ended, file)
        size, _, path = ended.stdout.partition("\n")
        if int(size) > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        content = await self._read(path.rstrip("\n"))
        return content.decode("utf-8") if text else content

    async def _read(self, path: str) -> bytes:
        if path.startswith(f"{_ROOT}/"):
            return await self.workspace.read(path[len(_ROOT) + 1 :])
        # Only a cell sees the rest of the file system: it makes a copy.
        copy = f"runs/copy-{uuid.uuid4().hex}"
        ended = await self._launch(["cp", "--", path, f"{_ROOT}/{copy}"])
        if ended.exit_code != 0:
            raise _refused(ended, path)
        content = await self.workspace.read(copy)
        await self.workspace.remove_file(copy)
        return content


def _workspaces(config: Optional[SandboxEnvironmentConfigType]) -> Workspaces:
    most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
    if isinstance(config, str):
        told = SandboxConfig.from_toml(Path(config).read_text(encoding="utf-8"))
        return Workspaces(config=told, max_output_bytes=most)
    if config is not None and not isinstance(config, BelljarSandboxConfig):
        raise TypeError(f"belljar takes a BelljarSandboxConfig or a file, not a {type(config).__name__}")
    values = (config or BelljarSandboxConfig()).model_dump(exclude_none=True)
    for name in ("dependencies", "allow_hosts"):
        values[name] = list(values[name])
    return Workspaces(values.pop("store", None), max_output_bytes=most, **values)


def _check(user: Optional[str]) -> None:
    if user is not None and user not in _USERS:
        raise SandboxUserUnsupportedError(
            f"a belljar sandbox cannot run anything as {user!r}: it has one user, {_USERS[0]} ({_USERS[1]})"
        )


def _path(file: str) -> str:
    """A path in the cell. Relative ones are below the working directory."""
    return str(PurePosixPath(_WORK) / file)


def _refused(ended: ProgramResult, file: str) -> OSError:
    """The error that Inspect's contract has for what a script of ours found."""
    said = ended.stderr.strip()
    number = _ERRNO.get(ended.exit_code)
    if "Permission denied" in said or "Read-only file system" in said:
        number = errno.EACCES
    elif number is None:
        number = errno.EIO
    return OSError(number, said or os.strerror(number), file)
