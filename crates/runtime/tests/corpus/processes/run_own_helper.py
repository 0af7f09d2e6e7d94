# files: shapes.py toolkit
import subprocess
import sys

print(subprocess.check_output([sys.executable, "shapes.py"], text=True), end="")
print(subprocess.check_output([sys.executable, "-m", "toolkit", "4", "8"], text=True), end="")
print(subprocess.run([sys.executable, "-c", "import shapes; print(shapes.square(9))"], capture_output=True, text=True).stdout, end="")
r = subprocess.run([sys.executable, "nope.py"], capture_output=True, text=True)
print(r.returncode, "can't open file" in r.stderr)
