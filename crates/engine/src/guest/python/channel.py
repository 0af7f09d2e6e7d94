"""Lines to and from the host over one descriptor."""

import json
import os
import select
import sys
import threading

# Scripts may put something else in their place.
_poll, _POLLIN = select.poll, select.POLLIN
_decode = json.JSONDecoder().scan_once
# Bytes that are read at once while a script runs.
LANDING = 1 << 15


class Channel:
    """The private channel: one frame a line."""

    def __init__(self, descriptor, received=b""):
        self.descriptor = descriptor
        self._lock = threading.Lock()
        self._buffer = received
        # What is read while a script runs: where the kernel puts it, what came, and how much of
        # that was looked through for the end of a line.
        self._landing, self._pieces, self._seen = None, [], 0

    def send(self, frame):
        # The newline in front ends whatever half a line somebody may have left on the channel.
        data = b"\n%s\n" % frame
        with self._lock:
            written = os.write(self.descriptor, data)
            while written < len(data):
                written += os.write(self.descriptor, memoryview(data)[written:])

    def ahead(self):
        """The frames that have arrived and are still to be received."""
        while self.has_more():
            chunk = os.read(self.descriptor, 1 << 16)
            if not chunk:
                break
            self._buffer += chunk
        return [_parsed(line) for line in self._buffer.split(b"\n")[:-1] if line]

    def receive_descriptor(self):
        """The descriptor that the host hands over next, or None when it is gone.

        It comes with an empty line. Frames may come before it, and are kept for later.
        """
        from socket import CMSG_LEN, SCM_RIGHTS, SOL_SOCKET, socket

        with socket(fileno=os.dup(self.descriptor)) as connection:
            while True:
                data, ancillary, _, _ = connection.recvmsg(1 << 16, CMSG_LEN(4))
                self._buffer += data
                for level, kind, passed in ancillary:
                    if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
                        return int.from_bytes(passed[:4], sys.byteorder)
                if not data:
                    return None

    def has_more(self):
        """Whether there is something to read."""
        poll = _poll()
        poll.register(self.descriptor, _POLLIN)
        return bool(poll.poll(0))

    def receive_for(self, take):
        """Waits for what comes next, and hands over each frame that is complete with it.

        A script runs meanwhile, so a signal may raise between any two calls. Nothing of what was
        read may be lost by that, because others wait for it. The kernel writes it into a buffer of
        zeros, of which JSON has none. What nobody came to take out is still there the next time, and
        a frame is forgotten only when it was taken. So one may be taken twice.
        """
        if self._seen == len(self._pieces):
            if self._landing is None:
                self._landing = bytearray(LANDING)
            if not self._landing[0] and not os.readv(self.descriptor, [self._landing]):
                os._exit(0)
            self._land()
        if not any(b"\n" in piece for piece in self._pieces[self._seen :]):
            self._seen = len(self._pieces)
            return
        *lines, rest = b"".join([self._buffer, *self._pieces]).split(b"\n")
        for line in lines:
            if line:
                take(_parsed(line))
        self._buffer, self._pieces, self._seen = rest, [], 0

    def _land(self):
        end = self._landing.find(0)
        landed = bytes(self._landing if end < 0 else self._landing[:end])
        # Both or none: nothing is called between the two.
        self._pieces, self._landing = [*self._pieces, landed], bytearray(LANDING)

    def _gather(self):
        """Takes over what was read while a script ran."""
        if self._landing[0]:
            self._land()
        self._buffer, self._pieces, self._seen = b"".join([self._buffer, *self._pieces]), [], 0

    def receive(self):
        """The next frame, or None when the host is gone."""
        if self._landing is not None:
            self._gather()
        self._buffer = self._buffer.lstrip(b"\n")
        chunks = [self._buffer]
        while b"\n" not in chunks[-1]:
            chunk = os.read(self.descriptor, 1 << 16)
            if not chunk:
                return None
            chunks.append(chunk)
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        return _parsed(line)


def _parsed(line):
    return _decode(line.decode("utf-8"), 0)[0]
