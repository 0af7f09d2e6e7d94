import os
import signal
import subprocess

p = subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60 & echo up; wait"], stdout=subprocess.PIPE, start_new_session=True)
print(p.stdout.readline())
os.killpg(p.pid, signal.SIGTERM)
print(p.wait(), p.stdout.read())
