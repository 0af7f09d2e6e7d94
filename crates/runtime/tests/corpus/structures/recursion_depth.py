# differs: frames of the harness are below those of the script
import sys


def measure(n=1):
    try:
        return measure(n + 1)
    except RecursionError:
        return n


# How deep a script may go before Python stops it, counted from its first line.
print(measure(), sys.getrecursionlimit())
