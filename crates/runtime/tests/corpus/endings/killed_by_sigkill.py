import os
import signal

print("sending myself SIGKILL", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
