import signal
import time


class Timeout(Exception):
    pass


def with_timeout(seconds, function):
    def ring(*_):
        raise Timeout

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


print(with_timeout(20, lambda: "quick"))
try:
    with_timeout(0.05, lambda: time.sleep(60))
except Timeout:
    print("too slow")
print("and on we go")
