"""Who answers when a script calls a tool of this process.

The native module calls `Dispatch` on a thread of its own, which must not stay: the interpreter may
end meanwhile. A plain function is called on a daemon thread of Python's. An `async def` function goes
to the event loop on which the run was awaited, so that it can use what lives there: sessions, pools,
locks. If the run was waited for without a loop, or awaited under trio, it goes to the background loop.
Context variables are those of whoever began the run. Whatever a function does, its caller is answered,
and nothing else happens.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import logging
import queue
import threading
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from ._pending import background_loop
from ._values import to_json

if TYPE_CHECKING:
    from ._belljar import Reply

__all__ = ["Caller", "Dispatch", "callers", "current_reply"]

log = logging.getLogger("belljar.tools")

current_reply: contextvars.ContextVar[Optional[Reply]] = contextvars.ContextVar("belljar_reply", default=None)


class Caller(NamedTuple):
    """Who began a run."""

    loop: Optional[asyncio.AbstractEventLoop]
    context: contextvars.Context


class Callers:
    """Who began which run, by the id of the execution."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[str, list[Caller]] = {}

    def add(self, execution_id: str, is_async: bool) -> None:
        """Remembers who begins a run: whoever calls this."""
        loop = asyncio._get_running_loop()
        # Who waits without awaiting holds its own loop up.
        if loop is not None and not is_async:
            loop = background_loop()
        with self._lock:
            self._of.setdefault(execution_id, []).append(Caller(loop, contextvars.copy_context()))

    def remove(self, execution_id: str) -> None:
        """The run is over."""
        with self._lock:
            found = self._of.get(execution_id)
            if found:
                found.pop()
            if not found:
                self._of.pop(execution_id, None)

    def find(self, execution_id: str) -> Caller:
        """Who began it. Where nobody is known, nobody has a loop."""
        with self._lock:
            found = self._of.get(execution_id)
            return found[-1] if found else Caller(None, contextvars.Context())


callers = Callers()


class Workers:
    """Daemon threads for plain functions, as many as are needed at a time.

    They are Python's own, so that an interpreter that ends can leave them where they are.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = 0

    def do(self, job: Callable[[], None]) -> None:
        """Does something on a thread of its own."""
        self._jobs.put(job)
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
                return
        threading.Thread(target=self._serve, name="belljar-tool", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._jobs.get()()
            with self._lock:
                self._idle += 1


workers = Workers()


def forget_threads() -> None:
    """In a forked child, where none of these threads is, and others may have had the locks."""
    global workers
    workers = Workers()
    callers.__init__()  # type: ignore[misc]


class Dispatch:
    """Calls functions by the names that scripts have for them."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[[Mapping[str, Any]], Any]] = {}

    def __call__(self, name: str, execution_id: str, arguments: str, reply: Reply) -> Callable[[], object]:
        """Asks a function. What is returned gives up what it does."""
        question = _Question(name, self.functions[name], arguments, callers.find(execution_id), reply)
        workers.do(question.ask)
        return question.give_up


class _Question:
    """One call of a function, from its arguments to its answer."""

    def __init__(
        self,
        name: str,
        function: Callable[[Mapping[str, Any]], Any],
        arguments: str,
        caller: Caller,
        reply: Reply,
    ) -> None:
        self._name, self._function, self._arguments = name, function, arguments
        self._caller, self._reply = caller, reply
        self._cancel: Optional[Callable[[], object]] = None
        self._is_given_up = False

    def ask(self) -> None:
        """Calls the function, on a thread that may wait."""
        if self._is_given_up:
            return
        context = self._caller.context.copy()
        context.run(current_reply.set, self._reply)
        try:
            answer = context.run(self._function, json.loads(self._arguments))
        except BaseException as error:
            _failed(self._name, self._reply, error)
            return
        if not inspect.isawaitable(answer):
            _answered(self._name, self._reply, answer)
            return
        loop = self._caller.loop
        if loop is None or loop.is_closed():
            loop = background_loop()
        self._cancel = _on_loop(loop, context, answer_later(self._name, answer, self._reply), self._reply)
        if self._is_given_up:
            self._cancel()

    def give_up(self) -> None:
        """Nobody waits for the answer any more. A plain function goes on to its end."""
        self._is_given_up = True
        if self._cancel is not None:
            self._cancel()


def _on_loop(
    loop: asyncio.AbstractEventLoop,
    context: contextvars.Context,
    work: Any,
    reply: Reply,
) -> Callable[[], object]:
    """Has a coroutine run on a loop. What is returned cancels it."""
    task: list[asyncio.Task[None]] = []
    gone = False

    def begin() -> None:
        if gone:
            work.close()
        else:
            task.append(context.run(loop.create_task, work))

    def cancel() -> None:
        nonlocal gone
        gone = True
        if task:
            task[0].cancel()

    def give_up() -> None:
        try:
            loop.call_soon_threadsafe(cancel)
        except RuntimeError:
            pass  # The loop was closed, and its tasks with it.

    try:
        loop.call_soon_threadsafe(begin)
    except RuntimeError:
        work.close()
        reply.fail("the event loop that the run was awaited on is closed")
    return give_up


async def answer_later(name: str, answer: Awaitable[Any], reply: Reply) -> None:
    """Waits for a function's answer, and hands it over."""
    try:
        value = await answer
    except asyncio.CancelledError:
        reply.fail("it was cancelled")
        raise
    except BaseException as error:
        # Also `SystemExit`: a script must not end the loop, or the program.
        _failed(name, reply, error)
    else:
        _answered(name, reply, value)


def _answered(name: str, reply: Reply, value: Any) -> None:
    try:
        if isinstance(getattr(value, "success", None), bool) and hasattr(value, "data"):
            if not value.success:
                reply.fail(_text(getattr(value, "message", None) or "it failed"))
                return
            value = value.data
        reply.succeed(to_json(value))
    except BaseException as error:
        log.warning("the answer of tool %s has no form in JSON", name, exc_info=error)
        reply.fail(f"its answer has no form in JSON: {_text(error)}")


def _failed(name: str, reply: Reply, error: BaseException) -> None:
    log.info("tool %s failed", name, exc_info=error)
    text = _text(error)
    kind = type(error).__name__
    reply.fail(f"{kind}: {text}" if text else kind)


def _text(value: Any) -> str:
    """A text that can be told, whatever it is of."""
    try:
        return str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    except BaseException:
        return f"<{type(value).__name__} that cannot be shown>"
