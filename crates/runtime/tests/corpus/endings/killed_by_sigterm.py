import os
import signal

print("sending myself SIGTERM", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
print("not reached")
