import os

pid = os.fork()
if pid == 0:
    raise ValueError("in the child")
_, status = os.waitpid(pid, 0)
print("exit code of the child:", os.WEXITSTATUS(status))
