"""Lines to and from the host over one descriptor."""

import _socket
import json
import os
import threading

_decode = json.JSONDecoder().scan_once


class Channel:
    """The private channel: one frame a line, one request a line."""

    def __init__(self, descriptor, received=b""):
        self._descriptor = descriptor
        # Looked at before anything is read, so that a signal finds either bytes or `has_begun`.
        # Made now: a script may set a time limit on every socket that is made after it.
        self._arrivals = (
            None if received else _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, descriptor)
        )
        # Whether a part of the next request is read.
        self.has_begun = bool(received)
        self._lock = threading.Lock()
        self._buffer = received

    def let_go(self):
        """Leaves the descriptor to whoever opened it."""
        self._arrivals.detach()

    def send(self, frame):
        # The newline in front ends whatever half a line somebody may have left on the channel.
        data = b"\n%s\n" % frame
        with self._lock:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, memoryview(data)[written:])

    def has_more(self):
        """Whether more was read than the last request."""
        return bool(self._buffer)

    def is_being_asked(self):
        """Whether a request has begun to arrive."""
        if self.has_begun:
            return True
        try:
            return bool(self._arrivals.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False

    def receive(self):
        """The next request, or None when the host is gone."""
        chunks = [self._buffer]
        if not self._buffer:
            self._arrivals.recv(1, _socket.MSG_PEEK)
            self.has_begun = True
        while b"\n" not in chunks[-1]:
            chunk = os.read(self._descriptor, 1 << 16)
            if not chunk:
                return None
            chunks.append(chunk)
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        return _decode(line.decode("utf-8"), 0)[0]
