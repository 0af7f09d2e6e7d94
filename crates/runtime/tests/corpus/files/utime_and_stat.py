import os
import stat
import time

open("f.txt", "w").close()
os.utime("f.txt", (1_600_000_000, 1_600_000_123))
st = os.stat("f.txt")
print(int(st.st_atime), int(st.st_mtime), stat.S_ISREG(st.st_mode), st.st_size)
print(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(os.path.getmtime("f.txt"))))
print(os.path.getmtime("f.txt") < time.time())
print(st.st_uid == os.getuid(), st.st_gid == os.getgid())
os.truncate("f.txt", 100)
print(os.path.getsize("f.txt"), open("f.txt", "rb").read(3))
