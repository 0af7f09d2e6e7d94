import os
import time

# The classic double fork; the grandchild outlives its parent and writes a file.
if os.fork() == 0:
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    with open("daemon.tmp", "w") as f:
        f.write(f"sid changed: {os.getsid(0) != os.getpid()}")
    os.rename("daemon.tmp", "daemon.txt")
    os._exit(0)
os.wait()
while not os.path.exists("daemon.txt"):
    time.sleep(0.01)
print(open("daemon.txt").read())
