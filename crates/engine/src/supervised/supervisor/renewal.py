"""Makes a container as good as new after a use, or reports that it cannot.

It never assumes that something is empty or gone, but looks.
"""

import errno
import os
import signal
import time

import belljar_guest as guest
import belljar_rights as rights

WITHIN = 10.0
PIECE = 64 * 1024


def empty(place, deadline):
    """Removes everything in a directory, however deep, with one descriptor.

    Directories below are moved up a level first.
    """
    top = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        count = 0
        while True:
            with os.scandir(top) as entries:
                names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
            if not names:
                # The time of the last change is a trace too.
                os.utime(top)
                return
            for name, is_directory in names:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{place} could not be emptied in time")
                if not is_directory:
                    os.unlink(name, dir_fd=top)
                    continue
                os.chmod(name, 0o700, dir_fd=top)
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
                try:
                    with os.scandir(below) as entries:
                        inner = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
                    for child, is_deep in inner:
                        if is_deep:
                            os.chmod(child, 0o700, dir_fd=below)
                            count += 1
                            os.rename(
                                child,
                                f".{os.getpid()}-{count}-{time.monotonic_ns()}",
                                src_dir_fd=below,
                                dst_dir_fd=top,
                            )
                        else:
                            os.unlink(child, dir_fd=below)
                finally:
                    os.close(below)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


IPC_RMID = 0


class Kernel:
    """What the kernel keeps of a guest when all its processes are gone.

    The files stay open, because they are read after every use.
    """

    def __init__(self):
        self._ipc = {}
        for name, remove in (
            ("shm", lambda number: rights.libc.shmctl(number, IPC_RMID, None)),
            ("sem", lambda number: rights.libc.semctl(number, 0, IPC_RMID)),
            ("msg", lambda number: rights.libc.msgctl(number, IPC_RMID, None)),
        ):
            descriptor = open_if_there(f"/proc/sysvipc/{name}")
            if descriptor is not None:
                self._ipc[name] = (descriptor, remove)

    def forget_objects(self):
        """Removes System V memory, semaphores and queues, which outlive the process that made them."""
        for name, (descriptor, remove) in self._ipc.items():
            left = self._numbers(descriptor)
            for number in left:
                remove(number)
            if left and self._numbers(descriptor):
                raise OSError(errno.EBUSY, f"System V {name} objects cannot be removed")

    def _numbers(self, descriptor):
        return [int(line.split()[1]) for line in read_whole(descriptor).splitlines()[1:]]


def open_if_there(path):
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def read_whole(descriptor):
    pieces, at = [], 0
    while True:
        piece = os.pread(descriptor, PIECE, at)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        at += len(piece)


def surroundings(granted):
    """Facts that the host compares with its intentions.

    They say which machine this is, what is mounted at each granted path, and the real path of it.
    """
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot_id = file.read().strip()
    found = [os.stat(path) for path in granted]
    return {
        "boot_id": boot_id,
        "granted": [[each.st_dev, each.st_ino] for each in found],
        "places": [os.path.realpath(path) for path in granted],
    }


def places(granted, scratch):
    """Every place in memory that a guest can write to.

    Some are Belljar's own, others come from the container runtime. Granted places are left out.
    """
    found = []
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            path, kind, options = line.split()[1:4]
            path = path.encode().decode("unicode_escape")  # Spaces are octal there.
            in_memory = kind in ("tmpfs", "ramfs", "mqueue") and "rw" in options.split(",")
            theirs = any(path == grant or path.startswith(grant + "/") for grant in granted)
            # If it is not a directory, it is a file that the null device masks.
            if in_memory and not theirs and os.path.isdir(path) and os.access(path, os.W_OK):
                found.append(path)
    missing = [place for place in scratch if place not in found]
    if missing:
        raise RuntimeError(f"{', '.join(missing)} must be a place in memory that can be written to")
    return found


def make_as_new(places, next_guest, wait_for_a_death):
    """Undoes whatever a guest did, or raises.

    Everything was killed before. The next guest was forked after that.
    """
    deadline = time.monotonic() + WITHIN
    while True:
        guest.reap(next_guest)
        others = [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and int(name) not in (1, next_guest.pid)
        ]
        if not others:
            break
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(others)} processes do not die")
        for pid in others:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for_a_death()
    for place in places:
        empty(place, deadline)
        # A file without a name may be in the queue of a dead process.
        room = os.statvfs(place)
        if room.f_bfree != room.f_blocks:
            raise OSError(errno.EBUSY, f"something in {place} is still there, without a name")
