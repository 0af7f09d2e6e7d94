"""Asynchronous tools as scripts call them: like plain functions, or with `await`.

Only what a script finds in its globals is made so. Tool files see their own functions as they are.

All of them run on one event loop, in a thread of its own. So what a tool keeps for later, a connection
or a lock, belongs to the same loop in every call, whether the script has a loop or not.
"""

import asyncio
import inspect
import os
import threading
from functools import update_wrapper

from .strays import tool_threads


class ToolLoop:
    """The event loop that asynchronous tools run on."""

    def __init__(self):
        self._loop = self._owner = None
        self._lock = threading.Lock()

    def for_scripts(self, name, function):
        """Waits for what `function` begins. With a loop in the calling thread, that is for it to await."""

        def call(*arguments, **named):
            begun = function(*arguments, **named)
            if not inspect.isawaitable(begun):
                return begun
            if asyncio._get_running_loop() is not None:
                return self._finish_there(begun)
            future = self._start(begun)
            try:
                return future.result()
            except BaseException:
                # The script is out of time, or somebody has pressed Ctrl-C.
                future.cancel()
                raise

        update_wrapper(call, function)
        # Where pickle finds it. The function of that name in the tool's module is another one.
        call.__module__, call.__name__, call.__qualname__ = "__main__", name, name
        return call

    async def _finish_there(self, begun):
        return await asyncio.wrap_future(self._start(begun))

    def _start(self, begun):
        if not inspect.iscoroutine(begun):
            begun = _finished(begun)
        return asyncio.run_coroutine_threadsafe(begun, self._running())

    def _running(self):
        # Started on first use, in the cell: a zygote with a second thread could not be cloned
        # safely. A process that the script forks has no thread of its parent's.
        with self._lock:
            if self._owner != os.getpid():
                self._loop, self._owner = asyncio.new_event_loop(), os.getpid()
                thread = threading.Thread(target=self._loop.run_forever, name="tool-loop", daemon=True)
                thread.start()
                # It works for every step, whichever came first.
                tool_threads.add(thread.native_id)
            return self._loop


async def _finished(begun):
    return await begun
