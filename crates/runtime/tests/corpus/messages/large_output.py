import sys

for i in range(3000):
    print(f"line {i:05d} " + "x" * 60)
print("end", file=sys.stderr)
