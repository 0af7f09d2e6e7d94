"""Lines to and from the host over one descriptor."""

import json
import os
import select
import threading

# Scripts may put something else in their place.
_poll, _POLLIN = select.poll, select.POLLIN
_decode = json.JSONDecoder().scan_once


class Channel:
    """The private channel: one frame a line."""

    def __init__(self, descriptor, received=b""):
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._buffer = received

    def send(self, frame):
        # The newline in front ends whatever half a line somebody may have left on the channel.
        data = b"\n%s\n" % frame
        with self._lock:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, memoryview(data)[written:])

    def ahead(self):
        """The frames that have arrived and are still to be received."""
        poll = _poll()
        poll.register(self._descriptor, _POLLIN)
        while poll.poll(0):
            chunk = os.read(self._descriptor, 1 << 16)
            if not chunk:
                break
            self._buffer += chunk
        return [_parsed(line) for line in self._buffer.split(b"\n")[:-1]]

    def receive(self):
        """The next frame, or None when the host is gone."""
        chunks = [self._buffer]
        while b"\n" not in chunks[-1]:
            chunk = os.read(self._descriptor, 1 << 16)
            if not chunk:
                return None
            chunks.append(chunk)
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        return _parsed(line)


def _parsed(line):
    return _decode(line.decode("utf-8"), 0)[0]
