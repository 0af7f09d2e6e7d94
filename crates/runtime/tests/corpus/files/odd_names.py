import os
from pathlib import Path

names = ["with space.txt", "quote'\".txt", "new\nline.txt", "ünï.txt", "-dash", "a" * 255, b"raw\xff.bin"]
for n in names:
    with open(n, "w") as f:
        f.write("x")
print(sorted(ascii(n) for n in os.listdir(".") if not n.endswith(".py")))
print(sorted(n for n in os.listdir(b".") if b"raw" in n))
try:
    open("b" * 256, "w")
except OSError as e:
    print(e.strerror)
try:
    open("nul\0byte")
except ValueError as e:
    print("ValueError:", e)
print(Path("with space.txt").resolve().name, os.path.exists("missing\0"))
