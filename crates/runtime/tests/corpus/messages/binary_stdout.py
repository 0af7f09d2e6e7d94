import os
import sys

print("text first", flush=True)
sys.stdout.buffer.write(bytes(range(256)))
sys.stdout.buffer.write(b"\xff\xfe not utf-8 \x00\n")
sys.stdout.flush()
os.write(1, b"raw descriptor\n")
with open(1, "wb", closefd=False) as f:
    f.write(b"another file object\n")
with open("/dev/stdout", "w") as f:
    f.write("by its name\n")
