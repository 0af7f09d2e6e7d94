# A name that is not UTF-8 reaches Python as a lone surrogate, which cannot be printed.
import os

name = os.fsdecode(b"caf\xe9.txt")
print(ascii(name))
print(name)
print("not reached")
