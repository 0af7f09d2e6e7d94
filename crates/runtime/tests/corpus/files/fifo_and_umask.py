import os
import stat
import threading

old = os.umask(0o027)
with open("masked.txt", "w") as f:
    f.write("x")
print(stat.filemode(os.stat("masked.txt").st_mode))
os.umask(old)
os.mkfifo("pipe")
print(stat.S_ISFIFO(os.stat("pipe").st_mode))


def writer():
    with open("pipe", "w") as w:
        w.write("through the pipe\n")


t = threading.Thread(target=writer)
t.start()
with open("pipe") as r:
    print(r.read(), end="")
t.join()
