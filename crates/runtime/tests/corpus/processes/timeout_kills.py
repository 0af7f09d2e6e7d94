import subprocess
import sys

try:
    subprocess.run([sys.executable, "-c", "print('started', flush=True); import time; time.sleep(60)"], timeout=2, capture_output=True)
except subprocess.TimeoutExpired as e:
    print("timed out after", e.timeout, e.stdout)
p = subprocess.Popen(["sleep", "60"])
try:
    p.wait(timeout=0.05)
except subprocess.TimeoutExpired:
    p.kill()
print(p.wait())
