"""Lines to and from the host over one descriptor."""

import json
import os
import select
import sys
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
        return [_parsed(line) for line in self._buffer.split(b"\n")[:-1] if line]

    def receive_descriptor(self):
        """The descriptor that the host hands over next, or None when it is gone.

        It comes with an empty line. Frames may come before it, and are kept for later.
        """
        from socket import CMSG_LEN, SCM_RIGHTS, SOL_SOCKET, socket

        with socket(fileno=os.dup(self._descriptor)) as connection:
            while True:
                data, ancillary, _, _ = connection.recvmsg(1 << 16, CMSG_LEN(4))
                self._buffer += data
                for level, kind, passed in ancillary:
                    if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
                        return int.from_bytes(passed[:4], sys.byteorder)
                if not data:
                    return None

    def receive(self):
        """The next frame, or None when the host is gone."""
        self._buffer = self._buffer.lstrip(b"\n")
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
