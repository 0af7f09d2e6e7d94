import atexit
import os
import sys

atexit.register(print, "never printed")
print("flushed before the end")
sys.stdout.flush()
os._exit(5)
