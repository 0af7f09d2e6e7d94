"""What a guest reads from descriptor 0: a pipe, and what does not fit into it yet.

The host sends no more than `ROOM` bytes ahead of what the guest has read. So messages behind them,
such as an interrupt, never wait for the guest.
"""

import os
import socket

ROOM = 64 * 1024

_zeros = bytes(ROOM)
_area = bytearray(ROOM)


class Stdin:
    def __init__(self):
        #: The end that is written to, or None.
        self.pipe = None
        self._begin = self._end = 0
        self._is_ended = False

    def open(self, guest):
        self.close()
        theirs, self.pipe = os.pipe()
        os.set_blocking(self.pipe, False)
        try:
            # With an empty line, which is no frame.
            socket.send_fds(guest.channel, [b"\n"], [theirs])
        except OSError:
            self.close()  # The guest is gone, or hears nothing.
        finally:
            os.close(theirs)

    def waits(self):
        """Whether something is to be written that did not fit."""
        return self.pipe is not None and self._begin < self._end

    def take(self, host, most):
        """Takes over up to `most` bytes of what the host sent. Returns how many."""
        if self._begin:
            kept = self._end - self._begin
            _area[:kept] = _area[self._begin : self._end]
            self._begin, self._end = 0, kept
        taken = host.copy_to(memoryview(_area)[self._end :], most)
        self._end += taken
        if taken:
            return taken
        # The host has sent more than it may. It is not waited for: that could be for ever.
        self.close()
        return host.skip(most)

    def write(self):
        """Writes what fits. Returns how many bytes are off our hands."""
        before = self._begin
        try:
            while self.waits():
                self._begin += os.write(self.pipe, memoryview(_area)[self._begin : self._end])
        except BlockingIOError:
            pass
        except OSError:
            self._begin, self._is_ended = self._end, True  # Nobody reads any more.
        if self.pipe is None:
            self._begin = self._end
        done = self._begin - before
        if self._is_ended and not self.waits():
            self.close()
        return done

    def end(self):
        self._is_ended = True
        self.write()

    def close(self):
        """Forgets everything: the next guest is a copy of this process."""
        if self.pipe is not None:
            os.close(self.pipe)
        _area[:] = _zeros
        self.pipe, self._begin, self._end, self._is_ended = None, 0, 0, False
