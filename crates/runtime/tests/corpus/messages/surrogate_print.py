# differs: what cannot be printed is printed as an escape
# A name that is not UTF-8 reaches Python as a lone surrogate, which is not UTF-8 either.
import os

name = os.fsdecode(b"caf\xe9.txt")
print(ascii(name))
print(name)
print("and on")
