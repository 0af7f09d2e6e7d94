import os
import subprocess
from pathlib import Path

script = Path("build.sh")
script.write_text("""#!/bin/sh
set -eu
for f in "$@"; do
    printf '%s:%d\\n' "$f" "$(wc -l < "$f")"
done
test -d nowhere || exit 4
""")
script.chmod(0o755)
Path("x.txt").write_text("1\n2\n")
r = subprocess.run(["./build.sh", "x.txt"], capture_output=True, text=True)
print(r.stdout, r.returncode, sep="")
print(os.access("build.sh", os.X_OK))
