"""Runs scripts in what a pool hands out."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Optional, Union

from ._pending import Pending
from .config import ExecutionMode, ResourceLimits
from .errors import BelljarError, Refused
from .pool import ManagedContainer
from .results import ExecutionResult
from .sandbox import Callback, Callbacks, request

__all__ = ["ScriptExecutor"]


class ScriptExecutor:
    """Runs scripts in what `SandboxPool.checkout` gives, and tells of what happens.

    `limits` may be lower than those of the sandbox, and never higher: a sandbox is made with its own.
    """

    def __init__(
        self,
        limits: Optional[ResourceLimits] = None,
        mode: Union[ExecutionMode, str] = ExecutionMode.PLAN,
        on_intermediate: Optional[Callback] = None,
        *,
        on_log: Optional[Callback] = None,
        on_stdout: Optional[Callback] = None,
        on_stderr: Optional[Callback] = None,
        on_event: Optional[Callback] = None,
    ) -> None:
        self.limits = limits if limits is not None else ResourceLimits()
        self.mode = ExecutionMode(mode)
        self._callbacks = Callbacks(
            event=on_event, intermediate=on_intermediate, log=on_log, stdout=on_stdout, stderr=on_stderr
        )

    def run(
        self,
        container: ManagedContainer,
        script: str,
        required_secrets: Optional[Sequence[str]] = None,
        execution_id: Optional[str] = None,
        **options: Any,
    ) -> Pending[ExecutionResult]:
        """Runs a script. What goes wrong with it is in the result, and no exception."""
        execution_id = execution_id or str(uuid.uuid4())

        async def work() -> ExecutionResult:
            own = container.sandbox.config.resource_limits
            try:
                asked = request(
                    script,
                    mode=self.mode,
                    timeout=self.limits.execution_timeout_sec,
                    max_output_bytes=min(self.limits.max_output_bytes, own.max_output_bytes),
                    required_secrets=required_secrets or (),
                    execution_id=execution_id,
                    **options,
                )
                session = await container.session_for(self.mode)
                result = await session._step_telling(asked, self._callbacks, execution_id)
            except (Refused, BelljarError) as error:
                # As the seeds have it: an executor returns a result, whatever happens.
                return ExecutionResult(
                    success=False, execution_id=execution_id, error=str(error), verdict="infra"
                )
            container._place = result.place or container._place
            return result

        return Pending(work)
