import os
import subprocess
import time

procs = [subprocess.Popen(["sh", "-c", f"sleep 0.0{i}; exit {i}"]) for i in range(4)]
while any(p.poll() is None for p in procs):
    time.sleep(0.01)
print([p.returncode for p in procs])
r, w = os.pipe()
if os.fork() == 0:
    os.close(r)
    os.write(w, b"from the child")
    os._exit(3)
os.close(w)
print(os.read(r, 100))
pid, status = os.wait()
print(os.WEXITSTATUS(status))
try:
    os.wait()
except ChildProcessError as e:
    print(e.strerror)
