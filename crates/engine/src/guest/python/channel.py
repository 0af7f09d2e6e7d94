"""Lines to and from the host over one descriptor."""

import json
import os
import select
import threading

_decode = json.JSONDecoder().scan_once


class Channel:
    """The private channel: one frame a line, one request a line."""

    def __init__(self, descriptor, received=b""):
        self._descriptor = descriptor
        # Waited on before anything is read, so that a signal finds either bytes or `has_begun`.
        self._arrivals = select.poll()
        self._arrivals.register(descriptor, select.POLLIN)
        # Whether a part of the next request is read.
        self.has_begun = bool(received)
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
        return self.has_begun or bool(self._arrivals.poll(0))

    def receive(self):
        """The next request, or None when the host is gone."""
        chunks = [self._buffer]
        if not self._buffer:
            self._arrivals.poll()
            self.has_begun = True
        while b"\n" not in chunks[-1]:
            chunk = os.read(self._descriptor, 1 << 16)
            if not chunk:
                return None
            chunks.append(chunk)
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        return _decode(line.decode("utf-8"), 0)[0]
