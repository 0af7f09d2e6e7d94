# args: one "two words" 'quoted "x"' --flag=value é
import sys

print("Number of arguments:", len(sys.argv) - 1)
for i, arg in enumerate(sys.argv[1:], start=1):
    print(f"arg {i}: {arg!r}")
