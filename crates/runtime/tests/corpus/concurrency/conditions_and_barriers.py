import threading

barrier = threading.Barrier(3)
local = threading.local()
condition = threading.Condition()
turn, log = 0, []


def player(me):
    global turn
    local.me = me
    barrier.wait()
    for _ in range(2):
        with condition:
            condition.wait_for(lambda: turn % 3 == local.me)
            log.append(local.me)
            turn += 1
            condition.notify_all()


ts = [threading.Thread(target=player, args=(i,)) for i in range(3)]
for t in ts:
    t.start()
for t in ts:
    t.join()
print(log, hasattr(local, "me"))
sem = threading.BoundedSemaphore(1)
sem.acquire()
sem.release()
try:
    sem.release()
except ValueError as e:
    print("ValueError:", e)
