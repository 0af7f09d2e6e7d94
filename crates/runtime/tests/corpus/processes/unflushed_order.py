# differs: stdout is written line by line, as to a terminal
# Common, and a trap: what is printed here waits in a buffer while the child writes at once.
import subprocess

print("Running the command...")
subprocess.run(["echo", "output of the command"])
print("Done.")
