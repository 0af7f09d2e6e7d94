import resource

# A request that no machine can meet.
try:
    huge = bytearray(1 << 60)
except MemoryError:
    print("MemoryError")
try:
    x = [0] * (1 << 62)
except (MemoryError, OverflowError) as e:
    print(type(e).__name__)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0)
