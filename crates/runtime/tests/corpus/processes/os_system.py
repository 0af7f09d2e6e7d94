import os
import sys

status = os.system("exit 7")
print(os.waitstatus_to_exitcode(status))
sys.stdout.flush()
os.system("echo one && echo two | tr a-z A-Z")
with os.popen("ls /usr | sort | head -1") as p:
    print(p.read().strip())
print(os.popen("exit 3").close() >> 8)
