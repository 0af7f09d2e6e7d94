import time
import timeit
from contextlib import contextmanager
from functools import wraps


@contextmanager
def timer(label):
    start = time.perf_counter()
    yield
    print(label, "took some time:", time.perf_counter() - start >= 0)


def timed(function):
    @wraps(function)
    def wrapper(*args):
        t0 = time.monotonic_ns()
        result = function(*args)
        wrapper.calls.append(time.monotonic_ns() - t0)
        return result

    wrapper.calls = []
    return wrapper


@timed
def busy(n):
    return sum(range(n))


with timer("block"):
    print(busy(1000), busy(10))
print(len(busy.calls), all(c >= 0 for c in busy.calls), busy.__name__)
print(timeit.timeit("busy(5)", globals=globals(), number=10) > 0)
print(time.get_clock_info("monotonic").monotonic, time.time() > 1_600_000_000)
