import threading


def worker(n):
    if n == 2:
        raise RuntimeError("worker 2 failed")


threads = [threading.Thread(target=worker, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("main goes on, and the program succeeds")
