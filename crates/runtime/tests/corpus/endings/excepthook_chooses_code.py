import atexit
import sys

atexit.register(print, "at the end")


def hook(kind, value, trace):
    print("hook:", kind.__name__, value)
    sys.exit(42)


sys.excepthook = hook
{}["k"]
