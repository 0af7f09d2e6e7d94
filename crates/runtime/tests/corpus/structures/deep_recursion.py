import sys
import threading


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


print(depth(900))
try:
    depth(5000)
except RecursionError:
    print("too deep")
sys.setrecursionlimit(20_000)
print(depth(10_000))


def in_a_thread():
    print(depth(15_000))


threading.stack_size(64 * 1024 * 1024)
t = threading.Thread(target=in_a_thread)
t.start()
t.join()
