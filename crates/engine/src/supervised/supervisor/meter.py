"""What the kernel counts for this container, and whether its scratch space is full."""

import os


class Meter:
    """This container's control group, seen from inside: version 1 or 2.

    A figure that cannot be read is null.
    """

    def __init__(self):
        self._files = {}
        self._before = None
        self._in_nanoseconds = os.path.isdir("/sys/fs/cgroup/cpuacct")
        places = {
            "cpu": ("cpuacct/cpuacct.usage", "cpu.stat"),
            "peak": ("memory/memory.max_usage_in_bytes", "memory.peak"),
            "oom": ("memory/memory.oom_control", "memory.events"),
            "pids": ("pids/pids.events", "pids.events"),
        }
        for name, paths in places.items():
            for path in paths:
                try:
                    self._files[name] = os.open(f"/sys/fs/cgroup/{path}", os.O_RDONLY | os.O_CLOEXEC)
                    break
                except OSError:
                    continue

    def _read(self, name, key=None):
        try:
            text = os.pread(self._files[name], 4096, 0)
        except (KeyError, OSError):
            return None
        words = text.split()
        if key is None or key not in words:
            return int(words[0]) if words and words[0].isdigit() else None
        return int(words[words.index(key) + 1])

    def begin_anew(self):
        """Counts from the next request on.

        What is spent until then is for getting ready, and no run is charged with it.
        """
        self._before = None

    def begin(self):
        if self._before is None:
            self._before = self._spent()

    def _spent(self):
        used = self._read("cpu", b"usage_usec")
        return used // 1000 if used is not None and self._in_nanoseconds else used

    def cpu_micros(self):
        """Processor time since the first request to this guest."""
        if self._before is None:
            return 0 if "cpu" in self._files else None
        return self._spent() - self._before

    def usage(self):
        return {
            "cpu_micros": self.cpu_micros(),
            "peak_memory_bytes": self._read("peak"),
            "oom_kills": self._read("oom", b"oom_kill"),
            "forks_refused": self._read("pids", b"max"),
        }


def is_full(places):
    """Whether one of the places that every guest can write to is full.

    The root file system is read-only.
    """
    for place in places:
        space = os.statvfs(place)
        if space.f_bavail == 0 or space.f_ffree == 0:
            return True
    return False
