# stdin: first\nsecond\n
import os
import sys

print(sys.stdin.name, sys.stdin.mode, sys.stdin.fileno(), sys.stdin.errors, sys.stdin.encoding)
print(sys.stdin.readline().strip())
print(repr(os.read(0, 100)), sys.stdin.read())
with open("/dev/stdin") as again:
    print(repr(again.read()))
