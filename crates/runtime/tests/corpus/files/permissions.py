# differs (local as root): root may read everything, and this engine drops no rights
import os
import stat

with open("script.sh", "w") as f:
    f.write("#!/bin/sh\necho I run\n")
os.chmod("script.sh", 0o754)
mode = os.stat("script.sh").st_mode
print(stat.filemode(mode), oct(stat.S_IMODE(mode)), os.access("script.sh", os.X_OK))
os.chmod("script.sh", 0o000)
try:
    open("script.sh")
except PermissionError as e:
    print("PermissionError:", e.strerror)
os.chmod("script.sh", 0o600)
print(open("script.sh").readline().strip())
