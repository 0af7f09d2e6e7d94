"""The process that runs the scripts of one use: how a fork becomes one, and what it sends."""

import json
import os
import resource
import signal
import socket

import belljar_rights as rights

#: How much a pipe holds.
PIPE = 64 * 1024
ROOM = 2 * PIPE
#: How often output and frames are read in turn until they fit together. A guest that never pauses
#: would keep this process here.
ROUNDS = 8

_zeros = bytes(ROOM)
# What a guest sends is read into these: frames, stdout, stderr.
_areas = [bytearray(ROOM) for _ in range(3)]


class Guest:
    """The process that runs the scripts of one use, and what it sends."""

    def __init__(self, harness, modules, layout, open_files, announce):
        self.channel, theirs = socket.socketpair()
        stdout, their_stdout = os.pipe()
        stderr, their_stderr = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            streams = (theirs.fileno(), their_stdout, their_stderr)
            become_guest(harness, modules, layout, open_files, announce, streams)
        theirs.close()
        os.close(their_stdout)
        os.close(their_stderr)
        self.streams = [self.channel.fileno(), stdout, stderr]
        for descriptor in self.streams:
            os.set_blocking(descriptor, False)
        self._filled = [0, 0, 0]
        # How much of stdout and stderr may come after a frame that is not here.
        self._ahead = [0, 0]
        self.open = [True, True, True]
        self.told_closed = False
        self.status = None

    def gather(self):
        """Reads until output and frames fit together. Returns whether there is something to tell.

        Every output before the last frame is here then. Every frame before the last output is, too,
        unless the guest wrote on all the time: then some output is ahead, and this is to be called
        again at once.
        """
        was_ahead, self._ahead = self.is_ahead(), [0, 0]
        for done in range(ROUNDS):
            self._read(1)
            self._read(2)
            if done and not self._has_room():
                break
            if not self._read(0):
                return was_ahead or any(self._filled)
        else:
            self._read(1)
            self._read(2)
        self._ahead = self._filled[1:]
        return True

    def _has_room(self):
        """Whether frames can be read, and all output that may belong before them."""
        return self._filled[0] < ROOM and max(self._filled[1:]) <= ROOM - PIPE

    def is_ahead(self):
        return any(self._ahead)

    def _read(self, which):
        area, at = _areas[which], self._filled[which]
        if not self.open[which] or at == len(area):
            return 0
        try:
            read = os.readv(self.streams[which], [memoryview(area)[at:]])
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            read = 0
        if read == 0:
            self.open[which] = False
        self._filled[which] += read
        return read

    def said(self, word):
        return _areas[0].find(word, 0, self._filled[0]) >= 0

    def complaint(self):
        """What it has printed to stderr and nobody has read yet."""
        return bytes(_areas[2][: self._filled[2]]).decode("utf-8", "replace").strip()

    def framed(self):
        return self._filled[0] > 0

    def hand_over(self, host, **fields):
        channel, stdout, stderr = self._filled
        header = {"type": "output", "channel": channel, "stdout": stdout, "stderr": stderr, **fields}
        if self.is_ahead():
            header["ahead"] = self._ahead
        pieces = [memoryview(area)[:filled] for area, filled in zip(_areas, self._filled)]
        host.write([json.dumps(header, separators=(",", ":")).encode() + b"\n", *pieces])
        self.forget()

    def forget(self):
        """Wipes only the bytes that were read.

        The guest shares these pages, so the kernel copies each one that is written to.
        """
        for area, filled in zip(_areas, self._filled):
            if filled:
                area[:filled] = _zeros[:filled]
        self._filled = [0, 0, 0]

    def close(self):
        self.channel.close()
        for descriptor in self.streams[1:]:
            os.close(descriptor)


def become_guest(harness, modules, layout, open_files, announce, streams):
    """Turns a fork into a guest. Its only connection to the host are its own three streams."""
    channel, stdout, stderr = streams
    number = layout["channel"]
    try:
        os.setsid()
        nothing = os.open("/dev/null", os.O_RDONLY)
        for old, new in ((nothing, 0), (stdout, 1), (stderr, 2)):
            os.dup2(old, new)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        os.dup2(channel, number, inheritable=False)
        os.closerange(3, number)
        os.closerange(number + 1, most)
        open_files = min(open_files, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
        signal.set_wakeup_fd(-1)
        for usual in (signal.SIGALRM, signal.SIGCHLD):
            signal.signal(usual, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        rights.prctl(rights.PR_SET_DUMPABLE, 1)
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, b"1000")  # The kernel kills the script before its supervisor.
        os.close(score)
    except BaseException as error:
        os.write(2, f"the guest could not be started: {type(error).__name__}: {error}\n".encode())
        os._exit(70)
    # Exceptions are not caught from here on: a guest whose harness fails ends like any Python
    # program.
    main, spare = modules
    channel = harness.enter(number, layout["workspace"])
    # Nobody waits for the rest, unless a request is here already.
    harness.warm_up(spare)
    harness.serve(channel, main, harness.READY if announce else None)


def kill_all():
    signal_all(signal.SIGKILL)


def signal_all(number):
    """Signals every process of the container but this one. None can fork its way past it."""
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        pass


def reap(guest):
    """Collects dead children. Returns whether the guest is one of them."""
    ended = False
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if guest is not None and pid == guest.pid:
            guest.status, ended = status, True
