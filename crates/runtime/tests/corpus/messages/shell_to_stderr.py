import subprocess
import sys

# Shell scripts write errors like this.
script = 'echo "to stdout" > /dev/stdout; echo "to stderr" > /dev/stderr; echo "both" | tee /dev/stderr'
sys.stdout.flush()
print("exit code", subprocess.run(script, shell=True).returncode)
