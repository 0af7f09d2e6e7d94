# stdin: p total\nn\np total\nc\n
import pdb
import sys

debugger = pdb.Pdb(stdin=sys.stdin, stdout=sys.stdout, nosigint=True)
debugger.use_rawinput = False
debugger.prompt = ""


def accumulate(n):
    total = 0
    for i in range(n):
        total += i
    return total


result = debugger.runcall(accumulate, 4) if False else accumulate(4)
print("result", result)
for line in sys.stdin:
    print("unused command:", line.strip())
