import multiprocessing as mp
import os
import signal
import sys
import time


def fine():
    pass


def code():
    sys.exit(4)


def fails():
    raise ValueError("in a process")


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def endless():
    time.sleep(100)


if __name__ == "__main__":
    for target in (fine, code, fails, killed):
        p = mp.Process(target=target, name=target.__name__)
        p.start()
        p.join()
        print(p.name, p.exitcode)
    p = mp.Process(target=endless, daemon=True)
    p.start()
    p.terminate()
    p.join()
    print("terminated", p.exitcode)
