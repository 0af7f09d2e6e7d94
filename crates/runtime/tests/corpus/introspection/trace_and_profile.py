import cProfile
import io
import pstats
import sys

events = []


def tracer(frame, event, arg):
    if frame.f_code.co_name == "work":
        events.append((event, frame.f_lineno - frame.f_code.co_firstlineno))
        return tracer
    return None


def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


sys.settrace(tracer)
work(1)
sys.settrace(None)
print(events)
profile = cProfile.Profile()
profile.runcall(work, 10)
out = io.StringIO()
pstats.Stats(profile, stream=out).strip_dirs().print_stats()
print([line.split()[-1] for line in out.getvalue().splitlines() if "(work)" in line])
cProfile.run("sorted([3, 1])", "out.prof")
print(pstats.Stats("out.prof").total_calls > 0)
