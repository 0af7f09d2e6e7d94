import threading

counter = 0
lock = threading.Lock()


def increment(times):
    global counter
    for _ in range(times):
        with lock:
            counter += 1


threads = []
for i in range(5):
    t = threading.Thread(target=increment, args=(1000,), name=f"T{i}")
    threads.append(t)
    t.start()
for t in threads:
    t.join()
print(counter, [t.name for t in threads], any(t.is_alive() for t in threads))
