# differs: what a script leaves running is killed at its end
# The child is never waited for, and writes after the script has ended.
import subprocess

subprocess.Popen(["sh", "-c", "sleep 0.3; echo late"])
print("the script is done", flush=True)
