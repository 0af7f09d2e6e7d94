import contextlib
import io
import sys

buffer = io.StringIO()
with contextlib.redirect_stdout(buffer):
    print("captured")
    help(len) if False else print("twice")
print(repr(buffer.getvalue()))


class Tee:
    def __init__(self, *streams):
        self.streams = streams

    def write(self, text):
        for s in self.streams:
            s.write(text)
        return len(text)

    def flush(self):
        for s in self.streams:
            s.flush()


copy = io.StringIO()
old, sys.stdout = sys.stdout, Tee(sys.stdout, copy)
print("to both")
sys.stdout = old
print(repr(copy.getvalue()), sys.stdout is sys.__stdout__)
