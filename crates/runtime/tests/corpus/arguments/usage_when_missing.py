# differs: the script runs as `python /workspace/NAME`
import sys

if len(sys.argv) < 2:
    print(f"Usage: python {sys.argv[0]} <filename>")
    sys.exit(1)

with open(sys.argv[1]) as f:
    print(f.read())
