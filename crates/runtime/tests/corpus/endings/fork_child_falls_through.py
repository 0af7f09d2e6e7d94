import atexit
import os

atexit.register(lambda: print("atexit", "child" if child else "parent", flush=True))
print("start", flush=True)
child = os.fork() == 0
if not child:
    os.wait()
print("end of", "child" if child else "parent", flush=True)
