import atexit
import sys


def leave():
    print("leaving")
    sys.exit(7)


atexit.register(print, "still runs")
atexit.register(leave)
print("body")
