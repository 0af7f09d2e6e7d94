# differs (local as root): root may write everywhere, and this engine drops no rights
import os

os.mkdir("locked")
os.chmod("locked", 0o555)
try:
    with open("locked/new.txt", "w") as f:
        f.write("x")
    print("written")
except PermissionError:
    print("permission denied")
finally:
    os.chmod("locked", 0o755)
for path in ("/etc/passwd", "/usr/bin/new_file", "/proc/version"):
    try:
        with open(path, "a"):
            print("could write")
    except OSError as e:
        print(path, type(e).__name__ in ("PermissionError", "OSError"))
