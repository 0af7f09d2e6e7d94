import functools
import time


def retry(times, exceptions=(Exception,)):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            for attempt in range(1, times + 1):
                try:
                    return f(*args, **kwargs)
                except exceptions as e:
                    print(f"attempt {attempt} failed: {e}")
                    time.sleep(0.001)
            raise RuntimeError("gave up")

        return wrapper

    return decorate


calls = 0


@retry(3, (ConnectionError,))
def flaky():
    """Works the third time."""
    global calls
    calls += 1
    if calls < 3:
        raise ConnectionError("no route")
    return "connected"


print(flaky(), flaky.__name__, flaky.__doc__)


@retry(2)
def hopeless():
    raise OSError("nope")


hopeless()
