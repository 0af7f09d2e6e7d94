"""Lines to and from the host over one descriptor."""

import _socket
import json
import os
import threading
import time

_now = time.monotonic_ns
_decode = json.JSONDecoder().scan_once


class Channel:
    """The private channel: one frame a line, one request a line."""

    def __init__(self, descriptor, received=b""):
        self._descriptor = descriptor
        # Whether a part of the next request is read, and when that began.
        self.has_begun = bool(received)
        self.begun_at = 0
        self._lock = threading.Lock()
        self._buffer = received

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
        return self.has_begun or bool(self._look())

    def _look(self):
        """The first byte of what has arrived, which stays where it is."""
        if _socket.getdefaulttimeout() is not None:
            return b""  # A script's time limit on new sockets would count for this one.
        looking = None
        try:
            looking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, self._descriptor)
            return looking.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
        except OSError:
            return b""  # Nothing is there, or the script put something else in its place.
        finally:
            if looking is not None:
                looking.detach()

    def receive(self):
        """The next request, or None when the host is gone."""
        chunks = [self._buffer]
        while b"\n" not in chunks[-1]:
            chunk = os.read(self._descriptor, 1 << 16)
            if not self.has_begun:
                self.has_begun, self.begun_at = True, _now()
            if not chunk:
                return None
            chunks.append(chunk)
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        return _decode(line.decode("utf-8"), 0)[0]
