"""PID 1 of a container that is used again: it runs one guest at a time and stands between it and the host.

    boot:  give up rights ─► load tools and preloads (harness) ─► "ready" ─► fork a guest ahead of need
    use:   host ─stdin─► guest's channel          guest's channel, stdout, stderr ─► host, as "output"
    reset: kill everything ─► empty every place it could write to ─► look again ─► fork the next guest ─► "reset_done"

Messages are JSON, one object a line, each followed by as many raw bytes as it says. Only this process holds the container's own stdin and
stdout, so a guest cannot speak for it; a guest has its user id, though, and shares its kernel objects. Hence:

* it cannot be traced or looked into (not dumpable), nor signalled (the kernel keeps signals from PID 1 that it has no handler for);
* it never holds a request or an answer outside of two buffers that are wiped after each use, because the next guest is a copy of it;
* it does not believe that a place is empty, it looks; and it tells the host when it cannot be sure.

Standard library only; CPython 3.9 and later.
"""

import ctypes
import errno
import importlib.util
import json
import os
import resource
import select
import signal
import socket
import sys
import time

HOME = "/opt/belljar"
#: What every guest can write to. The root file system is read-only.
PLACES = ("/workspace", "/tmp", "/dev/shm")
#: Where an authority is kept that programs are to believe, if there is one. Guests can write here too: they have our user id.
TRUST = "/run/belljar"
ROOM = 128 * 1024
PIECE = 64 * 1024
#: How often what is printed and what is framed are read in turn until they fit together; a guest that never pauses would keep us.
ROUNDS = 8
#: How closely processor time is told while something runs.
CLOSEST_LOOK, WIDEST_LOOK = 0.02, 1.0
WIPE_WITHIN = 10.0
NOBODY = "65534"
#: Who is a fork of this process, and so a guest, has another.
OWN = os.getpid()

_libc = ctypes.CDLL(None, use_errno=True)
_zeros = bytes(ROOM)
# What a guest says lands here: frames, stdout, stderr.
_areas = [bytearray(ROOM) for _ in range(3)]


def _prctl(option, *arguments):
    padded = [ctypes.c_ulong(argument) for argument in arguments] + [ctypes.c_ulong(0)] * (4 - len(arguments))
    if _libc.prctl(option, *padded) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 4, 22, 38, 2


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def _refuse_calls(path):
    """Installs the filters that cells of every engine have: each with its length in front."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    with open(path, "rb") as file:
        rest = file.read()
    while rest:
        size = int.from_bytes(rest[:4], "little")
        code, rest = rest[4 : 4 + size], rest[4 + size :]
        program = _Filter(size // 8, code)
        _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _settle_login():
    """Who has no login id may take any, once: the host's audit log would show a guest's deeds as somebody else's. Nobody takes it first."""
    try:
        with open("/proc/self/loginuid", "w") as file:
            file.write(NOBODY)
    except OSError:
        pass  # It has one, or this kernel knows none.


def _load_harness():
    spec = importlib.util.spec_from_file_location("belljar_harness", f"{HOME}/harness.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["belljar_harness"] = module
    spec.loader.exec_module(module)
    return module


# --------------------------------------------------------------------------------------------------------------------
# What the kernel counts


class Meter:
    """This container's control group, from inside: version 1 or 2. A figure that cannot be read is null."""

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
        """What is spent until the next request is spent on getting ready, which no run shall be charged with."""
        self._before = None

    def begin(self):
        if self._before is None:
            self._before = self._spent()

    def _spent(self):
        used = self._read("cpu", b"usage_usec")
        return used // 1000 if used is not None and self._in_nanoseconds else used

    def cpu_micros(self):
        """Since the first request to this guest."""
        if self._before is None:
            return 0 if "cpu" in self._files else None
        return self._spent() - self._before

    def usage(self):
        return {
            "cpu_micros": self.cpu_micros(),
            "peak_memory_bytes": self._read("peak"),
            "oom_kills": self._read("oom", b"oom_kill") or 0,
            "forks_refused": self._read("pids", b"max") or 0,
        }


def _is_full():
    for place in PLACES:
        space = os.statvfs(place)
        if space.f_bavail == 0 or space.f_ffree == 0:
            return True
    return False


# --------------------------------------------------------------------------------------------------------------------
# The host


class Host:
    """The container's own stdin and stdout."""

    def __init__(self):
        self._inbox = bytearray(PIECE)
        self._begin = self._end = 0

    def tell(self, kind, **fields):
        self.write([json.dumps({"type": kind, **fields}, separators=(",", ":")).encode() + b"\n"])

    def write(self, pieces):
        pieces = [memoryview(piece) for piece in pieces if len(piece)]
        while pieces:
            written = os.writev(1, pieces)
            while pieces and written >= len(pieces[0]):
                written -= len(pieces.pop(0))
            if pieces:
                pieces[0] = pieces[0][written:]

    def fill(self):
        """Reads what there is; False when the host is gone."""
        if self._begin == self._end:
            self._wipe()
        elif self._begin and self._end == len(self._inbox):
            kept = self._end - self._begin
            self._inbox[:kept] = self._inbox[self._begin : self._end]
            self._begin, self._end = 0, kept
        read = os.readv(0, [memoryview(self._inbox)[self._end :]])
        self._end += read
        return read > 0

    def next_line(self):
        """The next message, if it is all there."""
        at = self._inbox.find(b"\n", self._begin, self._end)
        if at < 0:
            return None
        line = bytes(self._inbox[self._begin : at])
        self._begin = at + 1
        return json.loads(line)

    def has_bytes(self):
        return self._end > self._begin

    def pass_on(self, descriptor, most):
        """Writes up to `most` of the bytes at hand to a descriptor; how many."""
        piece = memoryview(self._inbox)[self._begin : min(self._end, self._begin + most)]
        written = os.write(descriptor, piece)
        self._begin += written
        return written

    def skip(self, most):
        skipped = min(most, self._end - self._begin)
        self._begin += skipped
        return skipped

    def _wipe(self):
        self._inbox[: self._end] = _zeros[: self._end]
        self._begin = self._end = 0

    def wipe_what_was_read(self):
        if self._begin == self._end:
            self._wipe()
        else:
            self._inbox[: self._begin] = _zeros[: self._begin]


# --------------------------------------------------------------------------------------------------------------------
# The guest


class Guest:
    """The process that runs the scripts of one use, and what it says."""

    def __init__(self, harness, modules, open_files, announce):
        self.channel, theirs = socket.socketpair()
        stdout, their_stdout = os.pipe()
        stderr, their_stderr = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become_guest(harness, modules, open_files, announce, theirs.fileno(), their_stdout, their_stderr)
        theirs.close()
        os.close(their_stdout)
        os.close(their_stderr)
        self.streams = [self.channel.fileno(), stdout, stderr]
        for descriptor in self.streams:
            os.set_blocking(descriptor, False)
        self._filled = [0, 0, 0]
        self.open = [True, True, True]
        self.told_closed = False
        self.status = None

    def gather(self):
        """Reads until prints and frames fit together: every frame written before the last print seen, and the other way round."""
        for _ in range(ROUNDS):
            framed = self._read(0)
            printed = self._read(1) + self._read(2)
            if not printed and not framed:
                break
        return any(self._filled)

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

    def framed(self):
        return self._filled[0] > 0

    def hand_over(self, host, **fields):
        channel, stdout, stderr = self._filled
        header = {"type": "output", "channel": channel, "stdout": stdout, "stderr": stderr, **fields}
        pieces = [memoryview(area)[:filled] for area, filled in zip(_areas, self._filled)]
        host.write([json.dumps(header, separators=(",", ":")).encode() + b"\n", *pieces])
        self.forget()

    def forget(self):
        """Wipes what was read and not more: every page that is written to must be copied first, because the guest shares it."""
        for area, filled in zip(_areas, self._filled):
            if filled:
                area[:filled] = _zeros[:filled]
        self._filled = [0, 0, 0]

    def close(self):
        self.channel.close()
        for descriptor in self.streams[1:]:
            os.close(descriptor)


#: One number for all guests of every engine, above those that programs count on.
CHANNEL = 900


def _become_guest(harness, modules, open_files, announce, channel, stdout, stderr):
    """What a fork does to be a guest: no way back to the host but its own three."""
    try:
        os.setsid()
        nothing = os.open("/dev/null", os.O_RDONLY)
        for old, new in ((nothing, 0), (stdout, 1), (stderr, 2)):
            os.dup2(old, new)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        os.dup2(channel, CHANNEL, inheritable=False)
        os.closerange(3, CHANNEL)
        os.closerange(CHANNEL + 1, most)
        open_files = min(open_files, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _prctl(PR_SET_DUMPABLE, 1)
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, b"1000")  # Rather the script than its supervisor.
        os.close(score)
    except BaseException as error:
        os.write(2, f"the guest could not be started: {type(error).__name__}: {error}\n".encode())
        os._exit(70)
    # Whatever it raises goes up to the top: a guest whose harness fails ends as any Python program does.
    main, spare = modules
    channel = harness.enter(CHANNEL)
    # Nobody waits for the rest, unless a request is here already.
    harness.warm_up(spare)
    if announce:
        channel.send(harness.READY)
    harness.serve(channel, main)


def _kill_all():
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _reap(guest):
    """Collects the dead; whether the guest is one of them."""
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


# --------------------------------------------------------------------------------------------------------------------
# As good as new


def _empty(place, deadline):
    """Removes everything in a directory, however deep, with one descriptor: what is below comes up a level first."""
    top = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        count = 0
        while True:
            with os.scandir(top) as entries:
                names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
            if not names:
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
                            os.rename(child, f".{os.getpid()}-{count}-{time.monotonic_ns()}", src_dir_fd=below, dst_dir_fd=top)
                        else:
                            os.unlink(child, dir_fd=below)
                finally:
                    os.close(below)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


IPC_RMID = 0


class Kernel:
    """What of a guest the kernel keeps when all its processes are gone. The files are held open: they are read after every use."""

    def __init__(self, has_way_out):
        self._ipc = {}
        for name, remove in (
            ("shm", lambda number: _libc.shmctl(number, IPC_RMID, None)),
            ("sem", lambda number: _libc.semctl(number, 0, IPC_RMID)),
            ("msg", lambda number: _libc.msgctl(number, IPC_RMID, None)),
        ):
            descriptor = _open_if_there(f"/proc/sysvipc/{name}")
            if descriptor is not None:
                self._ipc[name] = (descriptor, remove)
        # Traffic through the way out is counted too, and is nobody's secret within one sandbox.
        counters = () if has_way_out else ("dev", "snmp", "snmp6", "netstat")
        self._network = [_open_if_there(f"/proc/self/net/{name}") for name in counters]
        self._untouched = self._counted()

    def forget_objects(self):
        """System V memory, semaphores and queues outlive whoever made them."""
        for name, (descriptor, remove) in self._ipc.items():
            left = self._numbers(descriptor)
            for number in left:
                remove(number)
            if left and self._numbers(descriptor):
                raise OSError(errno.EBUSY, f"System V {name} objects cannot be removed")

    def _numbers(self, descriptor):
        return [int(line.split()[1]) for line in _read_whole(descriptor).splitlines()[1:]]

    def check_network(self):
        """The loopback's counters cannot be reset, so they must not have moved."""
        if self._counted() != self._untouched:
            raise RuntimeError("the last guest used the network, and the kernel's counters of it cannot be reset")

    def _counted(self):
        return [_read_whole(descriptor) for descriptor in self._network if descriptor is not None]


def _open_if_there(path):
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _read_whole(descriptor):
    pieces, at = [], 0
    while True:
        piece = os.pread(descriptor, PIECE, at)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        at += len(piece)


def _places(granted):
    """Every place in memory that a guest can write to: ours, and what the container's runtime adds of its own accord. Not what was granted."""
    found = []
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            path, kind, options = line.split()[1:4]
            path = path.encode().decode("unicode_escape")  # A space is written in octal.
            in_memory = kind in ("tmpfs", "ramfs", "mqueue") and "rw" in options.split(",")
            theirs = any(path == grant or path.startswith(grant + "/") for grant in granted)
            # Not a directory: a file that is masked by the null device.
            if in_memory and not theirs and os.path.isdir(path) and os.access(path, os.W_OK):
                found.append(path)
    missing = [place for place in PLACES if place not in found]
    if missing:
        raise RuntimeError(f"{', '.join(missing)} must be a place in memory that can be written to")
    return found


def _make_as_new(authority, places, next_guest, wait_for_a_death):
    """Undoes whatever a guest did, or raises. Everything has been killed but the next guest, which was forked after that."""
    deadline = time.monotonic() + WIPE_WITHIN
    while True:
        _reap(next_guest)
        others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, next_guest.pid)]
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
        _empty(place, deadline)
    if authority:
        _trust(authority)


# --------------------------------------------------------------------------------------------------------------------
# The way out


def _open_way_out(settings):
    """Makes a listener on this container's loopback and gives it to the proxy, which alone can accept on it from then on."""
    with socket.create_server(("127.0.0.1", settings["port"]), backlog=128) as listener:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as proxy:
            proxy.settimeout(20)
            proxy.connect(settings["socket"])
            socket.send_fds(proxy, [settings["token"].encode() + b"\n"], [listener.fileno()])
            answer = proxy.recv(256)
            if answer != b"ok\n":
                raise ConnectionError(f"the proxy did not take the listener: {answer.decode('utf-8', 'replace').strip()}")


def _trust(authority):
    """A certificate bundle with one authority more, where the variables of this container point."""
    of_the_image = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
    bundle = ""
    for path in of_the_image:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                bundle = file.read()
            break
    with open(f"{TRUST}/authorities.pem", "w", encoding="utf-8") as file:
        file.write(f"{bundle}\n{authority}")


# --------------------------------------------------------------------------------------------------------------------
# The supervisor


class Supervisor:
    """Serves the host with one guest after the other."""

    def __init__(self, host, harness, modules, settings):
        self._host, self._harness, self._modules, self._settings = host, harness, modules, settings
        self._authority = settings["authority"]
        self._places = _places(settings["granted"])
        self._kernel = Kernel(bool(settings["way_out"]))
        self._meter = Meter()
        self._owed = 0
        self._busy = False
        self._look, self._next_look, self._told_cpu = CLOSEST_LOOK, 0.0, 0
        self._bell, ring = os.pipe()
        for descriptor in (self._bell, ring):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        self._guest = None

    def fork_guest(self, announce=False):
        return Guest(self._harness, self._modules, self._settings["open_files"], announce)

    def await_guest(self, guest):
        """Takes the first guest once it says that it is ready: those that follow are made the same way."""
        poll = select.poll()
        for descriptor in guest.streams:
            poll.register(descriptor, select.POLLIN)
        deadline = time.monotonic() + 20
        while not guest.said(b'"type":"ready"'):
            left = deadline - time.monotonic()
            if left <= 0 or not guest.open[0]:
                words = bytes(_areas[2][: guest._filled[2]]).decode("utf-8", "replace").strip()
                raise TimeoutError(f"the next guest did not get ready{': ' + words if words else ''}")
            poll.poll(left * 1000)
            guest.gather()
        guest.forget()
        self._take(guest)

    def _take(self, guest):
        self._guest, self._busy, self._look, self._told_cpu = guest, False, CLOSEST_LOOK, 0
        self._meter.begin_anew()

    def tell_ready(self, report):
        self._host.tell("ready", **report, usage=self._meter.usage())

    def serve(self):
        host = self._host
        while True:
            poll, guest = select.poll(), self._guest
            writable = False
            if self._owed and host.has_bytes():
                # The guest takes its time; so does what comes after.
                if guest is not None:
                    poll.register(guest.channel.fileno(), select.POLLIN | select.POLLOUT)
                    writable = True
            else:
                poll.register(0, select.POLLIN)
            poll.register(self._bell, select.POLLIN)
            if guest is not None:
                for which, descriptor in enumerate(guest.streams):
                    if guest.open[which] and not (which == 0 and writable):
                        poll.register(descriptor, select.POLLIN)
            wait = max(0.0, self._next_look - time.monotonic()) * 1000 if self._busy else None
            events = dict(poll.poll(wait))
            if self._bell in events:
                os.read(self._bell, 4096)
                if _reap(guest) and guest is not None:
                    self._bury(guest)
                    continue
            if guest is not None and any(descriptor in events for descriptor in guest.streams):
                if guest.gather():
                    self._relay(guest)
                elif not any(guest.open) and not guest.told_closed:
                    guest.told_closed = True
                    host.tell("closed")
            if 0 in events:
                if not host.fill():
                    return
                self._listen()
            elif writable and events.get(guest.channel.fileno(), 0) & select.POLLOUT:
                self._listen()
            if self._busy and time.monotonic() >= self._next_look:
                self._tell_usage()

    def _relay(self, guest):
        if not guest.framed():
            guest.hand_over(self._host)
            return
        fields = {"usage": self._meter.usage()}
        if guest.said(b'"type":"error"'):
            fields["scratch_is_full"] = _is_full()
        guest.hand_over(self._host, **fields)

    def _tell_usage(self):
        used = self._meter.cpu_micros() or 0
        idle = used - self._told_cpu < 1000
        self._look = min(self._look * 2, WIDEST_LOOK) if idle else CLOSEST_LOOK
        self._told_cpu, self._next_look = used, time.monotonic() + self._look
        if not idle:
            self._host.tell("usage", usage=self._meter.usage())

    def _listen(self):
        host = self._host
        while True:
            if self._owed:
                if not host.has_bytes():
                    break
                try:
                    self._owed -= host.pass_on(self._guest.channel.fileno(), self._owed)
                except BlockingIOError:
                    break
                except (AttributeError, OSError):
                    # There is no guest to take it.
                    self._owed -= host.skip(self._owed)
                continue
            message = host.next_line()
            if message is None:
                break
            kind = message["type"]
            if kind == "input":
                self._owed, self._busy, self._look = message["size"], True, CLOSEST_LOOK
                self._meter.begin()
                self._next_look = time.monotonic() + CLOSEST_LOOK
            elif kind == "reset":
                self._reset()
            elif kind == "way_out":
                # The proxy is another one than at the start. Without it nobody is let out, which is not for us to judge.
                try:
                    if message["authority"]:
                        self._authority = message["authority"]
                        _trust(self._authority)
                    _open_way_out(message)
                except OSError as error:
                    os.write(2, f"no way out: {error}\n".encode())
        host.wipe_what_was_read()

    def _bury(self, guest):
        """The guest is dead: so is everything it started. Its last words, then how it ended."""
        _kill_all()
        deadline = time.monotonic() + WIPE_WITHIN
        poll = select.poll()
        for descriptor in guest.streams:
            poll.register(descriptor, select.POLLIN)
        while any(guest.open) and time.monotonic() < deadline:
            poll.poll(100)
            if guest.gather():
                guest.hand_over(self._host)
            for which, descriptor in enumerate(guest.streams):
                if not guest.open[which]:
                    try:
                        poll.unregister(descriptor)
                    except KeyError:
                        pass
            _reap(None)
        guest.close()
        self._guest, self._busy = None, False
        self._host.tell("ended", status=guest.status, usage=self._meter.usage(), scratch_is_full=_is_full())

    def _wait_for_a_death(self):
        """Returns when a child has died, or soon in any case: not everybody who dies is a child of ours yet."""
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        if poll.poll(5):
            os.read(self._bell, 4096)

    def _reset(self):
        try:
            _kill_all()
            if self._guest is not None:
                self._guest.close()
                self._guest.forget()
                self._guest = None
            self._host.wipe_what_was_read()
            # It gets ready while the last one is dying and what that left behind is removed. Should it die instead, that is told as any death.
            guest = self.fork_guest()
            _make_as_new(self._authority, self._places, guest, self._wait_for_a_death)
            self._kernel.forget_objects()
            self._kernel.check_network()
            self._take(guest)
        except Exception as error:
            if os.getpid() != OWN:
                raise  # The guest's.
            self._host.tell("reset_failed", reason=f"{type(error).__name__}: {error}")
            return
        self._host.tell("reset_done", usage=self._meter.usage())


def _boot(host):
    while True:
        message = host.next_line()
        if message is not None:
            host.wipe_what_was_read()
            return message
        if not host.fill():
            os._exit(0)


def main():
    _settle_login()
    # Nobody in here may look into this process, stop it, or read what it reads.
    _prctl(PR_SET_DUMPABLE, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # The daemon's addition; a guest's environment is the config's.
    os.environ.pop("HOSTNAME", None)
    host = Host()
    settings = _boot(host)
    try:
        if os.getpid() != 1:
            raise RuntimeError(f"the supervisor must be PID 1 of its container, not {os.getpid()}")
        if settings["authority"]:
            _trust(settings["authority"])
        if settings["way_out"]:
            _open_way_out(settings["way_out"])
        _refuse_calls(f"{HOME}/filters")
        with open(f"{HOME}/template.json", encoding="utf-8") as file:
            template_settings = json.load(file)
        harness = _load_harness()
        template, module, spare = harness.prepare(template_settings)
        harness.prepare_for_clone()
        supervisor = Supervisor(host, harness, (module, spare), settings)
        supervisor.await_guest(supervisor.fork_guest(announce=True))
    except BaseException as error:
        if os.getpid() != OWN:
            raise  # The guest's.
        host.tell("not_ready", reason=f"{type(error).__name__}: {error}")
        os._exit(70)
    supervisor.tell_ready(harness.report(template))
    supervisor.serve()
    # The host is gone, and with this process everything in the container.
    os._exit(0)


if __name__ == "__main__":
    main()
