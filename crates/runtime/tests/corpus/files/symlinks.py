import os
from pathlib import Path

Path("target.txt").write_text("data")
os.symlink("target.txt", "link.txt")
os.link("target.txt", "hard.txt")
print(os.readlink("link.txt"), os.path.islink("link.txt"), Path("link.txt").read_text())
print(os.stat("target.txt").st_nlink, os.path.samefile("hard.txt", "target.txt"))
os.remove("target.txt")
print(os.path.exists("link.txt"), os.path.lexists("link.txt"), Path("hard.txt").read_text())
os.symlink("loop", "loop")
try:
    open("loop")
except OSError as e:
    print(e.strerror)
