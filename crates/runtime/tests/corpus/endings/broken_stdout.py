import os
import sys

sys.stdout.write("printed before closing\n")
sys.stdout.flush()
os.close(1)
try:
    os.write(1, b"x")
except OSError as e:
    print("cannot write:", e.strerror, file=sys.stderr)
    os._exit(12)
