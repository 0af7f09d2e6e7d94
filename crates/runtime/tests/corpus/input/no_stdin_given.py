import sys

data = sys.stdin.read()
print("got", len(data), "characters")
print("interactive" if sys.stdin.isatty() else "not a terminal")
