# stdin: pwd-ish\necho hello world | tr a-z A-Z\nfalse\nstatus\nexit 3\n
import subprocess
import sys

status = 0
for line in sys.stdin:
    line = line.strip()
    if line.startswith("exit"):
        sys.exit(int(line.split()[1]))
    if line == "status":
        print("last status", status)
        continue
    done = subprocess.run(line, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    status = done.returncode
    if done.stdout:
        print(done.stdout, end="")
    print(f"[{status}]")
