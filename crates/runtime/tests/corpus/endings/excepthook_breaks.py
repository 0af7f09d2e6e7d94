import atexit
import sys

atexit.register(print, "at the end")
sys.excepthook = lambda *_: undefined_name
print("body")
1 / 0
