"""Calls of the host's tools on their way, from any number of threads and loops at once.

The channel is one, and is read by whoever waits:

* A thread that waits reads for all who wait, until its own answer is there. Then the next one reads.
* A loop that waits has the channel watched, and reads what is there when nobody else does.
"""

import asyncio
import os
import select
import threading

from . import execution as executions
from .attachments import unpacked
from .forks import main_thread
from .values import text, to_json

_get_ident, _main = threading.get_ident, main_thread.ident
# Seconds after which a thread that waits sees for itself whether anybody reads.
LOOK_AGAIN = 0.1


class Waiter:
    """A thread that waits for its answer, or for its turn to read."""

    number = 0
    # Whether it still waits. Whatever is raised in the middle of a call, this is set first.
    is_here = True

    def __init__(self):
        self.answer = None
        self._bell = threading.Lock()
        self._bell.acquire()

    def finish(self, answer):
        self.answer = answer
        self.wake()

    def wake(self):
        if self._bell.locked():
            try:
                self._bell.release()
            except RuntimeError:
                pass  # Two rang at once.

    def sleep(self):
        # Not for ever: a signal may have kept somebody from ringing.
        self._bell.acquire(timeout=LOOK_AGAIN)


class LoopWaiter:
    """A future of a loop that waits."""

    number = 0

    def __init__(self, loop):
        self._loop, self.future = loop, loop.create_future()

    def finish(self, answer):
        try:
            self._loop.call_soon_threadsafe(self._set, answer)
        except RuntimeError:
            pass  # The loop is closed. Nobody waits any more.

    def _set(self, answer):
        if not self.future.done():
            self.future.set_result(answer)


class Calls:
    """All calls on their way. Numbers go up for as long as the process lives.

    A signal may raise in a script at any moment, also in the middle of this. So what one holds for
    longer than a `with` is taken from it by others: a reader that is not here any more is none.
    """

    def __init__(self):
        self._sending, self._turns = threading.Lock(), threading.Lock()
        self._reader = None
        self._waiting, self._loops = {}, {}
        self._last = 0
        # Ends the reading of a thread that is not the main one.
        self._stop = None
        # The last execution that is over. A thread of it may be about to call, or a loop to read:
        # what comes now is the next request, and not for them.
        self._ended = None

    def wait_for(self, tool, arguments):
        """The answer, as soon as it is there."""
        waiter = Waiter()
        try:
            channel = self._send(tool, arguments, waiter)
            while waiter.answer is None:
                if self._may_read(waiter):
                    while waiter.answer is None and self._read(channel):
                        pass
                else:
                    waiter.sleep()
        finally:
            waiter.is_here = False
            self._leave(waiter)
        return waiter.answer

    async def answer_to(self, tool, arguments):
        """The same, while others have their turn in the loop."""
        loop = asyncio.get_running_loop()
        waiter = LoopWaiter(loop)
        channel = self._send(tool, arguments, waiter)
        self._loops[loop] = self._loops.get(loop, 0) + 1
        if self._loops[loop] == 1:
            loop.add_reader(channel.descriptor, self._look, channel)
        try:
            return await waiter.future
        finally:
            self._waiting.pop(waiter.number, None)
            self._loops[loop] -= 1
            if not self._loops[loop]:
                del self._loops[loop]
                loop.remove_reader(channel.descriptor)

    def give_up(self, execution):
        """The script is over. Whoever still waits learns so, and nobody reads the channel any more."""
        with self._sending, self._turns:
            self._ended = execution
        while self._waiting:
            _, waiter = self._waiting.popitem()
            waiter.finish((False, None, "the script that called this tool is over"))
        if self._stop is not None:
            os.write(self._stop[1], b"x")
        while self._somebody_reads():
            os.sched_yield()
        if self._stop is not None:
            os.read(self._stop[0], 1)

    def _send(self, tool, arguments, waiter):
        execution = executions.current()
        if os.getpid() != execution.owner:
            raise RuntimeError(f"{tool} works in the process that runs the script, not in one it forked")
        payload = to_json(arguments, f"{tool}(): its arguments", execution.most)
        with self._sending:
            if execution is self._ended:
                raise RuntimeError(f"{tool} was called when its script was over")
            if self._stop is None and _get_ident() != _main:
                self._stop = os.pipe()
            # In the order of their numbers: the host takes no number twice.
            self._last = waiter.number = self._last + 1
            self._waiting[waiter.number] = waiter
            executions.calls = self
            fields = b',"call_id":%d,"tool":%s,"args":%s' % (waiter.number, text(tool), payload)
            execution.send(b"tool_call", fields)
        return execution.channel

    def _may_read(self, waiter):
        with self._turns:
            if self._somebody_reads():
                return self._reader is waiter
            is_over = executions.running is None or executions.running is self._ended
            if not is_over:
                self._reader = waiter
            return not is_over

    def _somebody_reads(self):
        return self._reader is not None and self._reader.is_here

    def _leave(self, waiter):
        self._waiting.pop(waiter.number, None)
        with self._turns:
            if self._reader is waiter:
                self._reader = None
        if not self._somebody_reads():
            # The next thread that waits reads.
            for other in list(self._waiting.values()):
                if isinstance(other, Waiter):
                    other.wake()
                    return

    def _look(self, channel):
        """Reads what is there, unless somebody else does."""
        reader = Waiter()
        try:
            if self._may_read(reader):
                while channel.has_more():
                    channel.receive_for(self._take)
        finally:
            reader.is_here = False
            self._leave(reader)

    def _read(self, channel):
        """Waits for an answer to anything. False when the script is over."""
        if _get_ident() != _main:
            # The main thread comes back by itself when the script is over.
            poll = select.poll()
            for descriptor in (channel.descriptor, self._stop[0]):
                poll.register(descriptor, select.POLLIN)
            if any(descriptor == self._stop[0] for descriptor, _ in poll.poll()):
                return False
        channel.receive_for(self._take)
        return True

    def _take(self, frame):
        if frame.get("type") == "tool_result":
            waiter = self._waiting.get(frame["call_id"])
            if waiter is not None:
                data = frame["data"]
                data = unpacked(data) if "has_bytes" in frame else data
                waiter.finish((frame["success"], data, frame["message"]))


calls = Calls()
