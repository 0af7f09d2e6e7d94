import contextlib
import sys


def compute(x):
    with contextlib.redirect_stdout(sys.stderr):
        breakpoint()
    return x * 2


print("before the breakpoint", flush=True)
compute(2)
print("not reached")
