# stdin: alpha\nbeta\n
import subprocess
import sys

# The child inherits stdin.
code = "import sys; print('child read', sys.stdin.read().split())"
subprocess.run([sys.executable, "-c", code], check=True)
print("left for the parent:", repr(sys.stdin.read()))
