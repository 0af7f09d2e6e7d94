# differs: stdout is written line by line, as to a terminal
import os

# Both processes hold what was printed and not yet written, if stdout is buffered.
print("before the fork")
pid = os.fork()
if pid == 0:
    print("child")
    os._exit(0)
os.waitpid(pid, 0)
print("parent")
