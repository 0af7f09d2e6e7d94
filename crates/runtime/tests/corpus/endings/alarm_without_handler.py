import signal
import time

print("waiting for the alarm", flush=True)
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(20)
