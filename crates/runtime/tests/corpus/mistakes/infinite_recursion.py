import sys


def fib(n):
    return fib(n - 1) + fib(n - 2)  # no base case


try:
    fib(10)
except RecursionError as e:
    print(type(e).__name__, str(e).startswith("maximum recursion depth exceeded"))
print(sys.getrecursionlimit())
