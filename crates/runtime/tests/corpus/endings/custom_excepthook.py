import sys


def hook(kind, value, trace):
    depth = 0
    while trace:
        depth += 1
        trace = trace.tb_next
    print(f"unhandled {kind.__name__}: {value} ({depth} frames)")


sys.excepthook = hook


def inner():
    raise LookupError("no such thing")


inner()
