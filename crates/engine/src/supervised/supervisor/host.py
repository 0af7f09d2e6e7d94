"""The container's own stdin and stdout.

Bytes that pass through here are kept in one buffer and wiped, because the next guest is a copy of
this process.
"""

import json
import os

PIECE = 64 * 1024

_zeros = bytes(PIECE)


class Host:
    """The container's own stdin and stdout."""

    def __init__(self):
        self._inbox = bytearray(PIECE)
        self._begin = self._end = 0

    def tell(self, kind, **fields):
        self.write([json.dumps({"type": kind, **fields}, separators=(",", ":")).encode() + b"\n"])

    def write(self, pieces):
        pieces = [memoryview(piece) for piece in pieces if len(piece)]
        while pieces:
            written = os.writev(1, pieces)
            while pieces and written >= len(pieces[0]):
                written -= len(pieces.pop(0))
            if pieces:
                pieces[0] = pieces[0][written:]

    def fill(self):
        """Reads what there is. Returns False if the host is gone."""
        if self._begin == self._end:
            self._wipe()
        elif self._begin and self._end == len(self._inbox):
            kept = self._end - self._begin
            self._inbox[:kept] = self._inbox[self._begin : self._end]
            self._begin, self._end = 0, kept
        read = os.readv(0, [memoryview(self._inbox)[self._end :]])
        self._end += read
        return read > 0

    def next_line(self):
        """The next message, if it is complete."""
        at = self._inbox.find(b"\n", self._begin, self._end)
        if at < 0:
            return None
        line = bytes(self._inbox[self._begin : at])
        self._begin = at + 1
        return json.loads(line)

    def has_bytes(self):
        return self._end > self._begin

    def pass_on(self, descriptor, most):
        """Writes up to `most` of the buffered bytes to a descriptor. Returns how many."""
        piece = memoryview(self._inbox)[self._begin : min(self._end, self._begin + most)]
        written = os.write(descriptor, piece)
        self._begin += written
        return written

    def copy_to(self, area, most):
        """Copies up to `most` of the buffered bytes. Returns how many."""
        size = min(most, self._end - self._begin, len(area))
        area[:size] = memoryview(self._inbox)[self._begin : self._begin + size]
        self._begin += size
        return size

    def skip(self, most):
        skipped = min(most, self._end - self._begin)
        self._begin += skipped
        return skipped

    def _wipe(self):
        self._inbox[: self._end] = _zeros[: self._end]
        self._begin = self._end = 0

    def wipe_what_was_read(self):
        if self._begin == self._end:
            self._wipe()
        else:
            self._inbox[: self._begin] = _zeros[: self._begin]
