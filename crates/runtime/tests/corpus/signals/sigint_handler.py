import os
import signal
import sys


def stop(sig, frame):
    print("You pressed Ctrl+C!")
    sys.exit(0)


signal.signal(signal.SIGINT, stop)
print("Press Ctrl+C", flush=True)
os.kill(os.getpid(), signal.SIGINT)
signal.pause()
