import queue
import threading

SENTINEL = None
q = queue.Queue(maxsize=2)
out = []


def producer():
    for i in range(6):
        q.put(i)
    q.put(SENTINEL)


def consumer():
    while (item := q.get()) is not SENTINEL:
        out.append(item * 10)
        q.task_done()
    q.task_done()


ts = [threading.Thread(target=f) for f in (producer, consumer)]
for t in ts:
    t.start()
q.join()
for t in ts:
    t.join()
print(out)
pq = queue.PriorityQueue()
for p in (3, 1, 2):
    pq.put((p, f"job{p}"))
print([pq.get()[1] for _ in range(3)])
try:
    pq.get(timeout=0.01)
except queue.Empty:
    print("empty")
