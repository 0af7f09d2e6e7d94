import sched
import time

log = []
s = sched.scheduler(time.monotonic, time.sleep)
s.enter(0.6, 1, log.append, ("third",))
s.enter(0.2, 1, log.append, ("first",))
s.enter(0.4, 2, log.append, ("second",))
cancelled = s.enter(0.4, 1, log.append, ("cancelled",))
s.cancel(cancelled)
s.run()
print(log, s.empty())
start = time.perf_counter()
time.sleep(0.02)
print(time.perf_counter() - start >= 0.02, time.process_time() >= 0)
