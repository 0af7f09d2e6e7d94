"""Things that take time, for code with an event loop and for code without.

Whatever takes time in this package returns a `Pending`. `await` it in asynchronous code, under
asyncio, uvloop, anyio or trio; call `wait()` in other code. Nothing begins before that.

Inside, such a thing is written once, as a coroutine that awaits `Native` calls. Whoever drives the
coroutine decides how to wait for them:

    await pending   ──► the event loop is told by a callback when the call is over
    pending.wait()  ──► this thread waits, without the interpreter's lock, and hears Ctrl-C
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import sys
import threading
import time
from collections.abc import Awaitable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

if TYPE_CHECKING:
    from ._belljar import Call

__all__ = ["Foreign", "Native", "OneCall", "Pending", "background_loop", "is_async"]

T = TypeVar("T")


class Native:
    """A native call, for a coroutine of this package to await."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call = call

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self)


class Foreign(Generic[T]):
    """An awaitable of the caller's, such as what a callback returns."""

    __slots__ = ("awaitable",)

    def __init__(self, awaitable: Awaitable[T]) -> None:
        self.awaitable = awaitable

    def __await__(self) -> Generator[Any, Any, T]:
        return (yield self)  # type: ignore[no-any-return]


class _AsksWhoDrives:
    """Whether an event loop waits, or a thread."""

    def __await__(self) -> Generator[Any, Any, bool]:
        return (yield self)  # type: ignore[no-any-return]


is_async = _AsksWhoDrives()


class Pending(Coroutine[Any, Any, T]):
    """Something that takes time: `await` it, or call `wait()`. Nothing begins before that.

    It is a coroutine, so `asyncio.create_task`, `asyncio.gather` and task groups take it. Unlike others
    it can be awaited again, and begins again then.

    >>> import belljar
    >>> sandbox = belljar.Sandbox()
    >>> sandbox.run("print('hello')").wait().stdout
    'hello\\n'
    >>> sandbox.close().wait()
    """

    __slots__ = ("_begin", "_driven")

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._begin = begin
        self._driven: Generator[Any, Any, T] | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        return _drive(self._begin(), _in_loop)

    def wait(self, timeout: float | None = None) -> T:
        """Waits on this thread. Ctrl-C raises `KeyboardInterrupt`, and ends whatever runs.

        So does `timeout`, in seconds, with a `TimeoutError`.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        before = getattr(_waiting, "place", None)
        _waiting.place = _here()
        try:
            _drive(self._begin(), functools.partial(_on_thread, deadline)).send(None)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        except _TooLong:
            raise TimeoutError(f"it took longer than {timeout} s") from None
        finally:
            _waiting.place = before
        raise RuntimeError("this awaits something that is not Belljar's: it needs an event loop")

    def send(self, value: Any) -> Any:
        """Goes on, for an event loop that has it as a task."""
        return self._step(lambda driven: driven.send(value))

    def throw(self, *error: Any) -> Any:
        """Raises an exception in it, for an event loop that has it as a task."""
        return self._step(lambda driven: driven.throw(*error))

    def _step(self, go_on: Callable[[Generator[Any, Any, T]], Any]) -> Any:
        if self._driven is None:
            self._driven = self.__await__()
        try:
            return go_on(self._driven)
        except BaseException:
            # Over: the next time it begins again.
            self._driven = None
            raise

    def close(self) -> None:
        """Gives it up."""
        driven, self._driven = self._driven, None
        if driven is not None:
            driven.close()

    def __repr__(self) -> str:
        return "<Pending: await it, or call wait()>"


class OneCall(Pending[T]):
    """Something that is a single native call. Who waits for it needs nobody to drive it.

    `call` makes the native call, or gives `None` where there is more to do. `read` makes of its outcome
    what the caller gets.
    """

    __slots__ = ("_call", "_read")

    def __init__(
        self,
        begin: Callable[[], Coroutine[Any, Any, T]],
        call: Callable[[], Call | None],
        read: Callable[[Any], T],
    ) -> None:
        super().__init__(begin)
        self._call, self._read = call, read

    def wait(self, timeout: float | None = None) -> T:
        """Waits on this thread, as `Pending.wait` does."""
        call = self._call() if timeout is None else None
        return super().wait(timeout) if call is None else self._read(call.wait(None))

    def __await__(self) -> Generator[Any, Any, T]:
        loop = asyncio._get_running_loop()
        if loop is None or getattr(_waiting, "place", None) is not None:
            return super().__await__()
        return self._on_loop(loop)

    def _on_loop(self, loop: asyncio.AbstractEventLoop) -> Generator[Any, Any, T]:
        call = self._call()
        if call is None:
            return (yield from super().__await__())
        return self._read((yield from _on_asyncio(call, loop)))


def _drive(
    work: Coroutine[Any, Any, T], answer: Callable[[Any], Generator[Any, Any, Any]]
) -> Generator[Any, Any, T]:
    """Runs a coroutine of this package. `answer` waits for what it asks for."""
    step: Callable[[], Any] = functools.partial(work.send, None)
    try:
        while True:
            asked = step()
            try:
                value = yield from answer(asked)
            except BaseException as error:
                step = functools.partial(work.throw, error)
            else:
                step = functools.partial(work.send, value)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    finally:
        work.close()


class _TooLong(BaseException):
    """A wait is over. No callback of the caller's may take it for its own."""


# For a thread that waits: which event loop ran there when it began to.
_waiting = threading.local()


def _here() -> tuple[Any, Any]:
    """The event loop of asyncio's that runs here, and the task of trio's."""
    trio = sys.modules.get("trio")
    task = None
    if trio is not None and trio.lowlevel.in_trio_run():
        task = trio.lowlevel.current_task()
    return asyncio._get_running_loop(), task


def _pass_on(asked: Any) -> Generator[Any, Any, Any]:
    return (yield asked)


def _in_loop(asked: Any) -> Generator[Any, Any, Any]:
    """Answers by way of the event loop that runs here, or of whoever waits for the whole."""
    place = getattr(_waiting, "place", None)
    if place is not None and place == _here():
        return _pass_on(asked)
    if type(asked) is Native:
        return _on_loop(asked.call)
    if type(asked) is Foreign:
        return asked.awaitable.__await__()
    return _at_once(True)


def _on_thread(deadline: float | None, asked: Any) -> Generator[Any, Any, Any]:
    """Answers by waiting on this thread."""
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    if type(asked) is Native:
        try:
            return _at_once(asked.call.wait(left))
        except TimeoutError:
            if deadline is not None and time.monotonic() >= deadline:
                raise _TooLong from None
            raise
    if type(asked) is Foreign:
        return _at_once(run_elsewhere(asked.awaitable, left))
    return _at_once(False)


def _at_once(value: T) -> Generator[Any, Any, T]:
    return value
    yield


def _on_loop(call: Call) -> Generator[Any, Any, Any]:
    """Waits in the event loop that runs here."""
    loop = asyncio._get_running_loop()
    if loop is None:
        trio = sys.modules.get("trio")
        if trio is not None and trio.lowlevel.in_trio_run():
            return _on_trio(call, trio)
        raise RuntimeError("there is no event loop here: call wait() instead of awaiting")
    return _on_asyncio(call, loop)


def _on_asyncio(call: Call, loop: asyncio.AbstractEventLoop) -> Generator[Any, Any, Any]:
    future: asyncio.Future[None] = loop.create_future()

    def over() -> None:
        if not future.done():
            future.set_result(None)

    call.start(functools.partial(_tell, loop, over))
    try:
        yield from future
    except BaseException:
        # Cancelled, or nobody will ever ask again: whatever runs for it is killed.
        call.cancel()
        raise
    return call.take()


def _tell(loop: asyncio.AbstractEventLoop, over: Callable[[], None]) -> None:
    """Tells a loop, from another thread. A loop that was closed has nobody who waits."""
    try:
        loop.call_soon_threadsafe(over)
    except RuntimeError:
        if not loop.is_closed():
            raise


def _on_trio(call: Call, trio: Any) -> Generator[Any, Any, Any]:
    token, task = trio.lowlevel.current_trio_token(), trio.lowlevel.current_task()
    waits = True

    def over() -> None:
        if waits:
            trio.lowlevel.reschedule(task)

    def tell() -> None:
        try:
            token.run_sync_soon(over)
        except trio.RunFinishedError:
            pass

    def give_up(_: Any) -> Any:
        nonlocal waits
        waits = False
        call.cancel()
        return trio.lowlevel.Abort.SUCCEEDED

    call.start(tell)
    yield from trio.lowlevel.wait_task_rescheduled(give_up).__await__()
    waits = False
    return call.take()


class _BackgroundLoop:
    """An event loop on a thread of its own, for coroutines of callers who have none."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self.lock:
            if self.loop is None or self.thread is None or not self.thread.is_alive():
                self.loop = asyncio.new_event_loop()
                self.thread = threading.Thread(target=self.loop.run_forever, name="belljar-loop", daemon=True)
                self.thread.start()
            return self.loop


class _BackgroundLoops:
    """The first is everybody's. Somebody on it who waits without awaiting holds it up, so what this
    one waits for runs on the next."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all = [_BackgroundLoop()]

    def get(self) -> asyncio.AbstractEventLoop:
        running = asyncio._get_running_loop()
        with self.lock:
            held_up = [place for place, other in enumerate(self.all) if running and other.loop is running]
            place = held_up[0] + 1 if held_up else 0
            if place == len(self.all):
                self.all.append(_BackgroundLoop())
            return self.all[place].get()


_background = _BackgroundLoops()


def background_loop() -> asyncio.AbstractEventLoop:
    """The event loop for callers who have none. It is started when it is first needed, and is never
    the one that this thread runs."""
    return _background.get()


def forget_background_loop() -> None:
    """In a forked child, where its thread is not."""
    global _background
    _background = _BackgroundLoops()


def run_elsewhere(awaitable: Awaitable[T], timeout: float | None = None) -> T:
    """Waits for an awaitable that runs on the background loop."""

    async def work() -> T:
        return await awaitable

    future = asyncio.run_coroutine_threadsafe(work(), background_loop())
    try:
        return future.result(timeout)
    except concurrent.futures.TimeoutError:
        if future.done():
            raise
        future.cancel()
        raise _TooLong from None
    except BaseException:
        future.cancel()
        raise
