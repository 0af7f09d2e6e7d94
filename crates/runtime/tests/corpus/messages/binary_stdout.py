import os
import sys

print("text first", flush=True)
sys.stdout.buffer.write(bytes(range(32, 127)))
sys.stdout.buffer.write("\nüber\0\n".encode())
sys.stdout.flush()
os.write(1, b"raw descriptor\n")
with open(1, "wb", closefd=False) as f:
    f.write(b"another file object\n")
with open("/dev/stdout", "w") as f:
    f.write("by its name\n")
with open("/dev/fd/1", "w") as f:
    f.write("by its number\n")
