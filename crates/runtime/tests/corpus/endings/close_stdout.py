import sys

print("before")
sys.stdout.close()
try:
    print("after")
except ValueError as e:
    print("ValueError:", e, file=sys.stderr)
    sys.exit(5)
