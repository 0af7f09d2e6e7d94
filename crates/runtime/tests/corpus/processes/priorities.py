# differs (local as root): root may raise its priority, and this engine drops no rights
import os

print(os.nice(0), os.nice(1), os.getpriority(os.PRIO_PROCESS, 0))
os.setpriority(os.PRIO_PROCESS, 0, 5)
print(os.getpriority(os.PRIO_PROCESS, 0))
cpus = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(cpus)})
print(len(os.sched_getaffinity(0)), os.getpgrp() > 0, len(os.times()), len(os.getloadavg()))
try:
    os.nice(-10)
    print("allowed")
except PermissionError as e:
    print(e.strerror)
