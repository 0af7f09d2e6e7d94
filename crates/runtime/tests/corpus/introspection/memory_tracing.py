import gc
import sys
import tracemalloc

tracemalloc.start()
before = tracemalloc.take_snapshot()
data = [bytes(1000) for _ in range(1000)]
after = tracemalloc.take_snapshot()
top = after.compare_to(before, "lineno")[0]
print(top.traceback[0].filename == __file__, top.traceback[0].lineno, top.size_diff > 1_000_000)
current, peak = tracemalloc.get_traced_memory()
print(peak >= current > 1_000_000)
tracemalloc.stop()
print(sys.getsizeof([]) > 0, sys.getrefcount(data) >= 2, gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() >= 0)
