import os
import platform
import sys

print(sys.platform, os.name, os.sep, os.linesep.encode(), platform.system(), platform.python_implementation())
print(sys.version_info[:2] == tuple(map(int, platform.python_version_tuple()[:2])), sys.byteorder, sys.maxunicode)
print(platform.machine() == os.uname().machine, os.cpu_count() >= 1, len(os.sched_getaffinity(0)) >= 1)
print(os.getpid() > 0, os.getppid() >= 0, os.path.isdir(os.path.expanduser("~")), os.path.isfile(sys.executable))
print(sys.implementation.name, sys.flags.optimize, __debug__, sys.getswitchinterval())
print(sys.path[0] == os.path.dirname(os.path.abspath(__file__)), bool(platform.node()), "site" in sys.modules)
