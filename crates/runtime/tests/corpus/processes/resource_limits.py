import os
import resource
import subprocess
import sys

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (32, hard))
files = []
try:
    for _ in range(100):
        files.append(open(os.devnull))
except OSError as e:
    print(e.strerror, len(files) < 32)
for f in files:
    f.close()
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (1, 2))


p = subprocess.run([sys.executable, "-c", "while True: pass"], preexec_fn=limit)
print(p.returncode)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime > 0)
