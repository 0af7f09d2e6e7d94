import os
import sys

print("parent before the fork", flush=True)
pid = os.fork()
if pid == 0:
    print("child at work", flush=True)
    sys.exit(17)
_, status = os.waitpid(pid, 0)
print("child ended with", os.waitstatus_to_exitcode(status))
sys.exit(os.WEXITSTATUS(status) - 10)
