# uses: compiled loops, a compiled function kept in a cache, parallel loops
# expect: 4950 832040 499500.0 1
import numpy as np
from numba import njit, prange


@njit
def total(n):
    result = 0
    for i in range(n):
        result += i
    return result


@njit(cache=True)
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@njit(parallel=True)
def parallel_sum(values):
    result = 0.0
    for i in prange(values.size):
        result += values[i]
    return result


answers = total(100), fibonacci(30), parallel_sum(np.arange(1000.0))
print(*answers, sum(fibonacci.stats.cache_misses.values()))
