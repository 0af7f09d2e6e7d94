import sys

ok = len("abc") == 3
print("ok:", ok)
sys.exit(not ok)
