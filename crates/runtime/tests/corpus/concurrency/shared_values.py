import ctypes
from multiprocessing import Array, Lock, Process, Value


def deposit(balance, history, lock, index):
    for _ in range(100):
        with lock:
            balance.value += 1
    history[index] = 100


if __name__ == "__main__":
    balance, history, lock = Value(ctypes.c_long, 0), Array("i", 3), Lock()
    procs = [Process(target=deposit, args=(balance, history, lock, i)) for i in range(3)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
    print(balance.value, history[:])
