# A common omission: the file is never closed, and is written out only when the program ends.
import atexit
import os

report = open("report.txt", "w")
report.write("written at the very end\n")


def size():
    return os.path.getsize("report.txt")


atexit.register(lambda: print("in atexit:", size()))
print("still in the buffer:", size())
