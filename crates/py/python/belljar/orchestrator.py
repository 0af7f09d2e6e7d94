"""A model writes scripts for a task, until it is done or enough."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

from ._dispatch import _on_loop
from ._native import native
from ._pending import Native, Pending, background_loop, is_async
from .config import ExecutionMode
from .events import Event
from .pool import SandboxPool
from .runtime import default_runtime
from .sandbox import Callback, Sandbox, request
from .tools import ToolRegistry

__all__ = ["Message", "ModelReply", "StepRecord", "ToolExecutionResult", "ToolOrchestrator"]

log = logging.getLogger("belljar.orchestrator")


@dataclass
class Message:
    """One message of a conversation with a model."""

    role: str
    """`system`, `user` or `assistant`."""
    text: str

    def to_dict(self) -> dict[str, str]:
        """As most servers of models take it."""
        return {"role": self.role, "content": self.text}


@dataclass
class ModelReply:
    """What a model says, and what it took."""

    text: str
    prompt_tokens: Optional[int] = None
    completion_tokens: Optional[int] = None


Model = Callable[[Any], Union[str, ModelReply, Awaitable[Union[str, ModelReply]]]]


@dataclass
class StepRecord:
    """One reply of the model, and what became of it."""

    number: int
    reply: str
    script: Optional[str]
    findings: list[dict[str, Any]]
    """What was wrong with the script. With any, it was not run."""
    result: Optional[dict[str, Any]]
    model_ms: float
    run_ms: float


@dataclass
class ToolExecutionResult:
    """How a task ended, with all steps."""

    success: bool
    final_data: Any = None
    answer: Optional[str] = None
    """What the model said when it was done and had no result."""
    error: Optional[str] = None
    intermediates: list[dict[str, Any]] = field(default_factory=list)
    logs: list[dict[str, Any]] = field(default_factory=list)
    steps: list[StepRecord] = field(default_factory=list)
    total_ms: int = 0
    sandbox_name: str = "default"
    record: dict[str, Any] = field(default_factory=dict)
    """Everything, as every surface of Belljar writes it."""

    @property
    def attempts(self) -> int:
        """How often the model was asked."""
        return len(self.steps)

    @property
    def all_scripts(self) -> list[str]:
        """The scripts, in order."""
        return [step.script for step in self.steps if step.script is not None]

    def to_agent_context(self) -> str:
        """The outcome, for the model that asked for it."""
        told: dict[str, Any] = {"success": self.success, "attempts": self.attempts, "ms": self.total_ms}
        if self.success:
            told["result"] = self.final_data if self.answer is None else self.answer
            if self.intermediates:
                told["intermediates"] = self.intermediates
        else:
            told["error"] = self.error
        return json.dumps(told, ensure_ascii=False, default=str)


class ToolOrchestrator:
    """Has a model write scripts for tasks, looks at them, runs them, and tells the model of errors.

    `llm_call` is a function that is given the conversation and returns a text or a `ModelReply`; it may
    be `async def`. A function with a parameter called `prompt` gets one text, another a list of
    `Message`.
    """

    def __init__(
        self,
        registry: Optional[ToolRegistry] = None,
        pool: Optional[SandboxPool] = None,
        llm_call: Optional[Model] = None,
        max_retries: int = 3,
        on_intermediate: Optional[Callback] = None,
        *,
        sandbox: Optional[Sandbox] = None,
        on_event: Optional[Callable[[dict[str, Any]], object]] = None,
        max_steps: Optional[int] = None,
        max_seconds: Optional[float] = None,
        max_tokens: Optional[int] = None,
        rules: str = "",
        vet: bool = True,
        model_name: Optional[str] = None,
    ) -> None:
        if llm_call is None:
            raise TypeError("llm_call is missing: a function from messages to a text")
        self._registry, self._pool, self._sandbox = registry, pool, sandbox
        self._llm_call = llm_call
        self._name = model_name or str(getattr(llm_call, "__name__", type(llm_call).__name__))
        self._on_intermediate, self._on_event = on_intermediate, on_event
        self._settings: dict[str, Any] = {
            "attempts": max_retries + 1,
            "steps": max_steps,
            "time": max_seconds,
            "tokens": max_tokens,
            "rules": rules,
            "vet": vet,
        }

    def execute(
        self,
        task: str,
        sandbox_name: str = "default",
        extra_context: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> Pending[ToolExecutionResult]:
        """Has one script written that does it all; if it fails, another. `options` are those of
        `Sandbox.run`: files, variables, which files come back."""
        return self._do(task, sandbox_name, extra_context, False, options)

    def execute_interactive(
        self,
        task: str,
        sandbox_name: str = "default",
        extra_context: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> Pending[ToolExecutionResult]:
        """Has the model work in steps that share their variables, and see what each gives."""
        return self._do(task, sandbox_name, extra_context, True, options)

    def _ready(self, name: str) -> Sandbox:
        if self._sandbox is not None:
            return self._sandbox
        if self._pool is not None and name in self._pool._sandboxes:
            return self._pool._sandboxes[name]
        registry = self._registry if self._registry is not None else ToolRegistry()
        runtime = self._pool.runtime if self._pool is not None else default_runtime()
        return Sandbox.of_registry(registry, name, runtime)

    def _do(
        self,
        task: str,
        name: str,
        context: Optional[Mapping[str, Any]],
        interactive: bool,
        options: dict[str, Any],
    ) -> Pending[ToolExecutionResult]:
        if context:
            told = json.dumps(dict(context), ensure_ascii=False, default=str)
            text = f"{task}\n\nWhat is known already:\n{told}"
        else:
            text = task

        async def work() -> ToolExecutionResult:
            sandbox = self._ready(name)
            opened = await sandbox._open()
            loop = asyncio._get_running_loop() if await is_async else None
            ask = _Ask(self._llm_call, loop)
            listen = _Listen(self._on_intermediate, self._on_event, loop)
            settings = {**self._settings, "interactive": interactive}
            orchestrator = native.Orchestrator(opened, (self._name, ask), settings)
            mode = ExecutionMode.INTERACTIVE if interactive else ExecutionMode.PLAN
            plain, extra = request("pass", mode=mode, **options)
            call = orchestrator.run(text, plain, extra, listen if listen else None)
            success, outcome, record = await Native(call)
            return _read(success, outcome, record, name)

        return Pending(work)


def _read(success: bool, outcome: str, text: str, name: str) -> ToolExecutionResult:
    record = json.loads(text)
    steps = [
        StepRecord(
            number=each["number"],
            reply=each["reply"],
            script=each["script"],
            findings=each["findings"],
            result=each["result"],
            model_ms=each["model_ms"],
            run_ms=each["run_ms"],
        )
        for each in record["steps"]
    ]
    ran = [step.result for step in steps if step.result is not None]
    error: Optional[str] = None
    if not success:
        last = ran[-1].get("error") if ran else None
        error = f"{outcome}: {last}" if last else outcome
    return ToolExecutionResult(
        success=success,
        final_data=record["result"],
        answer=record["answer"],
        error=error,
        intermediates=[each for result in ran for each in result["intermediates"]],
        logs=[each for result in ran for each in result["logs"]],
        steps=steps,
        total_ms=round(record["duration_ms"]),
        sandbox_name=name,
        record=record,
    )


class _Ask:
    """Asks the model, on the event loop that the task was begun on."""

    def __init__(self, model: Model, loop: Optional[asyncio.AbstractEventLoop]) -> None:
        self._model, self._loop = model, loop
        names = list(inspect.signature(model).parameters)
        self._wants_text = names[:1] == ["prompt"]

    def __call__(self, messages: Sequence[tuple[str, str]], reply: Any) -> Optional[Callable[[], object]]:
        asked: Any = [Message(role, text) for role, text in messages]
        if self._wants_text:
            asked = "\n\n".join(text for _, text in messages)

        async def answer() -> None:
            try:
                said = self._model(asked)
                if inspect.isawaitable(said):
                    said = await said
                reply.succeed(_told(said))
            except asyncio.CancelledError:
                reply.fail("the model was not asked to the end")
                raise
            except Exception as error:
                log.info("the model failed", exc_info=error)
                reply.fail(f"{type(error).__name__}: {error}")

        if not _is_coroutine_function(self._model):
            try:
                said = self._model(asked)
                if not inspect.isawaitable(said):
                    reply.succeed(_told(said))
                    return None
            except Exception as error:
                log.info("the model failed", exc_info=error)
                reply.fail(f"{type(error).__name__}: {error}")
                return None
        loop = self._loop if self._loop is not None else background_loop()
        return _on_loop(loop, contextvars.copy_context(), answer(), reply)


def _is_coroutine_function(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def _told(said: Any) -> str:
    if isinstance(said, str):
        return json.dumps({"text": said})
    return json.dumps(
        {
            "text": str(said.text),
            "input_tokens": getattr(said, "prompt_tokens", None),
            "output_tokens": getattr(said, "completion_tokens", None),
        }
    )


class _Listen:
    """Tells of events, in order. The task waits for slow listeners."""

    def __init__(
        self,
        on_intermediate: Optional[Callback],
        on_event: Optional[Callable[[dict[str, Any]], object]],
        loop: Optional[asyncio.AbstractEventLoop],
    ) -> None:
        self._on_intermediate, self._on_event, self._loop = on_intermediate, on_event, loop

    def __bool__(self) -> bool:
        return self._on_intermediate is not None or self._on_event is not None

    def __call__(self, text: str, reply: Any) -> Optional[Callable[[], object]]:
        told = json.loads(text)

        async def tell() -> None:
            try:
                for callback, event in self._heard(told):
                    heard = callback(event)
                    if inspect.isawaitable(heard):
                        await heard
            except Exception:
                log.exception("a callback failed")
            finally:
                reply.succeed("null")

        loop = self._loop if self._loop is not None else background_loop()
        return _on_loop(loop, contextvars.copy_context(), tell(), reply)

    def _heard(self, told: dict[str, Any]) -> list[tuple[Callable[[Any], Any], Any]]:
        heard: list[tuple[Callable[[Any], Any], Any]] = []
        inner = told.get("event") if told.get("type") == "run" else None
        if self._on_intermediate is not None and inner and inner.get("type") == "intermediate":
            heard.append((self._on_intermediate, Event(inner)))
        if self._on_event is not None:
            heard.append((self._on_event, told))
        return heard
