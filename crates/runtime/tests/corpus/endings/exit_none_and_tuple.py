import sys

try:
    sys.exit()
except SystemExit as e:
    print(repr(e.code))
print("leaving with a tuple")
sys.exit(("a", 1))
