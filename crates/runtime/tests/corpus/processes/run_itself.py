import os
import subprocess
import sys

if len(sys.argv) > 1 and sys.argv[1] == "child":
    print("child with", sys.argv[2:], os.path.basename(__file__))
    sys.exit(11)
r = subprocess.run([sys.executable, __file__, "child", "a", "b"], capture_output=True, text=True)
print(r.stdout.strip(), r.returncode)
r = subprocess.run([sys.executable, sys.argv[0], "child"], capture_output=True, text=True)
print(r.stdout.strip(), r.returncode)
