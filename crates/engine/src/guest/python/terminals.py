"""A program with a terminal of its own, and the process that carries between that and the host.

    host ──stdin──► attendant ──► terminal ──► program
         ◄─stdout──           ◄──          ◄──
         ──channel─► resize

The attendant ends as the program ended, so the host learns of that as always.
"""

import fcntl
import json
import os
import select
import signal
import struct
import termios

#: How much is carried at once.
PIECE = 1 << 16
END_OF_FILE = b"\x04"


def attend(channel, size, start):
    """Runs a program in a terminal and serves it until it ends. Does not return."""
    master, slave = os.openpty()
    _resize(master, size)
    bell, ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        os.close(master)
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for descriptor in (0, 1, 2):
            os.dup2(slave, descriptor)
        if slave > 2:
            os.close(slave)
        start()
    os.close(slave)
    os.set_blocking(master, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: _tell(master, pid, number))
    status = _Attendant(channel, master, bell, pid).carry()
    _end_like(status)


class _Attendant:
    def __init__(self, channel, master, bell, pid):
        self._channel, self._master, self._bell, self._pid = channel, master, bell, pid
        self._pending, self._heard = b"", b""
        self._stdin_is_open = self._channel_is_open = True

    def carry(self):
        while True:
            poll = select.poll()
            poll.register(self._bell, select.POLLIN)
            poll.register(self._master, select.POLLIN | (select.POLLOUT if self._pending else 0))
            if self._stdin_is_open and not self._pending:
                poll.register(0, select.POLLIN)
            if self._channel_is_open:
                poll.register(self._channel.descriptor, select.POLLIN)
            events = dict(poll.poll())
            if self._bell in events:
                self._empty_bell()
            if self._master in events:
                self._show()
                self._write()
            if 0 in events:
                self._type()
            if self._channel.descriptor in events:
                self._listen()
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                # Whoever else has the terminal is not waited for.
                while self._show():
                    pass
                return status

    def _empty_bell(self):
        try:
            os.read(self._bell, 4096)
        except BlockingIOError:
            pass

    def _show(self):
        """What the program wrote goes to the host. Returns whether there was any."""
        try:
            shown = os.read(self._master, PIECE)
        except BlockingIOError:
            return False
        except OSError:
            # Nobody has the terminal open any more.
            return False
        view = memoryview(shown)
        while view:
            view = view[os.write(1, view) :]
        return bool(shown)

    def _type(self):
        typed = os.read(0, PIECE)
        if not typed:
            self._stdin_is_open = False
            typed = END_OF_FILE
        self._pending = typed
        self._write()

    def _write(self):
        try:
            while self._pending:
                # A terminal takes little at once, and drops what does not fit.
                self._pending = self._pending[os.write(self._master, self._pending[:1024]) :]
        except BlockingIOError:
            pass
        except OSError:
            self._pending = b""

    def _listen(self):
        heard = os.read(self._channel.descriptor, PIECE)
        if not heard:
            self._channel_is_open = False
            return
        *lines, self._heard = (self._heard + heard).split(b"\n")
        for line in lines:
            if line:
                frame = json.loads(line)
                if frame.get("type") == "resize":
                    _resize(self._master, frame)


def _resize(terminal, size):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size["rows"], size["columns"], 0, 0))


def _tell(terminal, pid, number):
    """The host's signals are for whoever has the terminal."""
    try:
        os.killpg(os.tcgetpgrp(terminal), number)
    except OSError:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _end_like(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
