import subprocess
import sys

# Scripts often look before they leap.
for tool in ("definitely-not-installed", "python3"):
    try:
        subprocess.run([tool, "--version"], stdout=subprocess.DEVNULL, check=True)
        print(tool, "found")
    except (FileNotFoundError, subprocess.CalledProcessError):
        print(tool, "missing")
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.version_info >= (3, 9))"], capture_output=True, text=True).stdout.strip())
print(subprocess.run([sys.executable, "-c", "import json, sqlite3, ssl, ctypes; print('ok')"], capture_output=True, text=True).stdout.strip())
