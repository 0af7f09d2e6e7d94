import os
import sys

print("to stdout", flush=True)
saved = os.dup(1)
target = os.open("captured.txt", os.O_CREAT | os.O_WRONLY)
os.dup2(target, 1)
print("to the file", flush=True)
os.system("echo from a child")
os.dup2(saved, 1)
print("back again")
print(open("captured.txt").read().splitlines())
sys.stdout.flush()
