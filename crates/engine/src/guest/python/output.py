"""stdout and stderr of the script. Both count their bytes, so that frames and prints can be ordered."""

import io

from . import strays


class Counted(io.FileIO):
    """A descriptor that knows how much was written to it.

    Each frame says how much was printed before it. By that the host can order the two.
    """

    written = 0

    def seekable(self):
        # The descriptor may become a pipe after the streams are made. They ask only once.
        return False

    def write(self, data):
        count = super().write(data)
        self.written += count or 0
        if strays.exist:
            strays.note_speaker()
        return count


def _printer(descriptor, name):
    raw = Counted(descriptor, "wb", closefd=False)
    # Name and mode are what Python gives to streams of its own.
    raw.name = name
    buffered = io.BufferedWriter(raw)
    stream = io.TextIOWrapper(buffered, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    stream.mode = "w"
    return raw, stream


stdout_count, stdout = _printer(1, "<stdout>")
stderr_count, stderr = _printer(2, "<stderr>")


def flush():
    for stream in (stdout, stderr):
        try:
            stream.flush()
        except (ValueError, OSError):
            pass  # The script closed it.
