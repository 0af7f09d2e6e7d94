import sys

print("to stdout")
print("fatal: cannot continue", file=sys.stderr)
sys.exit(2)
