"""A code executor for AutoGen: code blocks of agents run in sandboxes.

    from belljar.integrations.autogen import BelljarCodeExecutor

    async with BelljarCodeExecutor() as executor:
        agent = CodeExecutorAgent("runner", code_executor=executor)

As with AutoGen's command-line executors, each block is a file that is run in one working directory:
files stay from block to block, and variables do not.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from typing import Any, Optional

from ..workspace import ProgramResult, Workspace, Workspaces
from . import missing

try:
    from autogen_core import CancellationToken, Component
    from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult
    from pydantic import BaseModel, Field
    from typing_extensions import Self
except ImportError as error:
    raise missing("autogen-core") from error

__all__ = ["BelljarCodeExecutor", "BelljarCodeExecutorConfig", "BelljarCodeResult"]

_LANGUAGES = {"python": "python3", "py": "python3", "python3": "python3"}
_LANGUAGES.update(bash="bash", sh="sh", shell="sh")
_TIMED_OUT = 124


@dataclass
class BelljarCodeResult(CodeResult):
    """How the blocks ended. `code_file` is the first one's file, in the working directory."""

    code_file: Optional[str] = None


class BelljarCodeExecutorConfig(BaseModel):
    """What an executor is made of, as AutoGen writes components to files."""

    timeout: float = 60
    dependencies: list[str] = Field(default_factory=list)
    allow_hosts: list[str] = Field(default_factory=list)
    memory_mb: Optional[int] = None
    cpus: Optional[float] = None
    env: dict[str, str] = Field(default_factory=dict)


class BelljarCodeExecutor(CodeExecutor, Component[BelljarCodeExecutorConfig]):
    """Runs `python`, `bash` and `sh` blocks, each in a fresh cell, all in one workspace.

    `timeout` is for each block, in seconds. A block that takes longer is killed, and its exit code is
    124. When a block fails, those after it are not run. A cancelled token kills the block that runs.
    """

    component_config_schema = BelljarCodeExecutorConfig
    component_provider_override = "belljar.integrations.autogen.BelljarCodeExecutor"

    def __init__(
        self,
        *,
        timeout: float = 60,
        dependencies: Optional[list[str]] = None,
        allow_hosts: Optional[list[str]] = None,
        memory_mb: Optional[int] = None,
        cpus: Optional[float] = None,
        env: Optional[dict[str, str]] = None,
        workspaces: Optional[Workspaces] = None,
    ) -> None:
        self._config = BelljarCodeExecutorConfig(
            timeout=timeout,
            dependencies=dependencies or [],
            allow_hosts=allow_hosts or [],
            memory_mb=memory_mb,
            cpus=cpus,
            env=env or {},
        )
        self._workspaces = workspaces
        self._workspace: Optional[Workspace] = None

    @property
    def workspace(self) -> Workspace:
        """The working directory, with the files that blocks left. Only between `start` and `stop`."""
        if self._workspace is None:
            raise RuntimeError("the executor is not started: call start(), or use it with `async with`")
        return self._workspace

    async def start(self) -> None:
        """Makes the working directory."""
        if self._workspace is None:
            if self._workspaces is None:
                self._workspaces = Workspaces(**self._config.model_dump(exclude_none=True))
            self._workspace = await self._workspaces.workspace(f"autogen-{uuid.uuid4().hex[:12]}").open()

    async def stop(self) -> None:
        """Removes the working directory."""
        workspace, self._workspace = self._workspace, None
        if workspace is not None:
            await workspace.remove()

    async def restart(self) -> None:
        """Removes the working directory, and makes an empty one."""
        await self.stop()
        await self.start()

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> BelljarCodeResult:
        """Runs blocks one after the other, up to the first that fails."""
        if self._workspace is None:
            await self.start()
        done = BelljarCodeResult(exit_code=0, output="")
        for block in code_blocks:
            file, ended = await self._run(block, cancellation_token)
            done.code_file = done.code_file or file
            done.output += ended.stdout + ended.stderr
            done.exit_code = ended.exit_code
            if ended.timed_out:
                done.exit_code = _TIMED_OUT
                done.output += f"\nTimeout: the code took longer than {self._config.timeout:g} seconds.\n"
            if done.exit_code != 0:
                break
        return done

    async def _run(self, block: CodeBlock, token: CancellationToken) -> tuple[str, ProgramResult]:
        program = _LANGUAGES.get(block.language.lower())
        if program is None:
            raise ValueError(f"unsupported language: {block.language}; there are {', '.join(_LANGUAGES)}")
        file = f"work/{_name_in(block.code) or _made_up(program)}"
        await self.workspace.put(file, block.code)

        async def work() -> ProgramResult:
            return await self.workspace.run(
                program, file[len("work/") :], cwd="work", timeout=self._config.timeout
            )

        # Cancelling the task kills what runs for it.
        task = asyncio.ensure_future(work())
        token.link_future(task)
        return file, await task

    def _to_config(self) -> BelljarCodeExecutorConfig:
        return self._config

    @classmethod
    def _from_config(cls, config: BelljarCodeExecutorConfig) -> Self:
        values: dict[str, Any] = config.model_dump()
        return cls(**values)


def _made_up(program: str) -> str:
    return f"block_{uuid.uuid4().hex[:12]}.{'py' if program == 'python3' else 'sh'}"


def _name_in(code: str) -> Optional[str]:
    """The name that a block gives its file: `# filename: chart.py` in its first line."""
    first = code.split("\n", 1)[0]
    if not first.startswith("# filename:"):
        return None
    name = first.split(":", 1)[1].strip()
    parts = name.split("/")
    if not name or name.startswith("/") or ".." in parts:
        raise ValueError(f"the file of a block must be in the working directory: {name}")
    return name
