import subprocess
import sys

CHILD = """
import sys
for line in sys.stdin:
    print(eval(line), flush=True)
"""
with subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as p:
    for expression in ("1 + 1", "'ab' * 3", "2 ** 64"):
        p.stdin.write(expression + "\n")
        p.stdin.flush()
        print(expression, "=", p.stdout.readline().strip())
    p.stdin.close()
print("child ended with", p.returncode)
