"""Answers the kernel's questions about objects that no limit counts.

The kernel asks before a guest makes a socket of the Internet families, a connection, or a lock on a
part of a file. It waits for the answer. The answer is yes until there are too many.

A socket of the Internet families also means that the container is not reused. Its network namespace
has changed, and nobody can say how: ports, routes, labels and counters outlive their socket.
"""

import errno
import fcntl
import os
import signal
import struct
import threading

RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
QUESTION, ANSWER = struct.Struct("=Q8xi60x"), struct.Struct("=QqiI")
SOCKET, FCNTL = {"x86_64": (41, 72), "aarch64": (198, 25)}[os.uname().machine]
#: The process that asked may be dead by now. Then receiving would wait for the next question, so an
#: alarm ends the wait after this many seconds.
WAKE_UP = 0.01


class Questions:
    """The questions of this container, and their answers.

    Without a listener the kernel does not ask, and anything may have been made.
    """

    def __init__(self, listener, most_sockets, most_locks):
        self.descriptor = listener
        self._most_sockets, self._most_locks = most_sockets, most_locks
        self.sockets_were_made = listener is None
        self._locks = 0
        self._waiting = False
        signal.signal(signal.SIGALRM, self._wake_up)

    def answer(self, tell_of_sockets):
        """Answers a question, if the process that asked is still there."""
        question = self._receive_soon()
        if question is None:
            return
        if question[1] == SOCKET:
            # The host is told before the socket is made. It must never think that there was none.
            tell_of_sockets()
            self.answer_elsewhere(question)
        else:
            self._reply(self.descriptor, question)

    def answer_elsewhere(self, question=None):
        """Lets a thread answer from now on. Nothing is forked any longer."""
        self.sockets_were_made = True
        descriptor = self.descriptor
        if descriptor is None:
            return
        if question is not None:
            self._reply(descriptor, question)
        try:
            threading.Thread(
                target=self._answer_all, args=(descriptor,), name="questions", daemon=True
            ).start()
            self.descriptor = None
        except RuntimeError:
            pass  # The guest has used up all processes. The next question tries again.

    def _answer_all(self, descriptor):
        while True:
            try:
                self._reply(descriptor, _receive(descriptor, bytearray(QUESTION.size)))
            except OSError:
                # The process that asked is dead. The error repeats only if no process is left that
                # could ask.
                if not _somebody_may_ask(descriptor):
                    return

    def _receive_soon(self):
        question = bytearray(QUESTION.size)
        try:
            try:
                self._waiting = True
                signal.setitimer(signal.ITIMER_REAL, WAKE_UP, WAKE_UP)
                _receive(self.descriptor, question)
            finally:
                self._waiting = False
        except OSError:
            pass  # The alarm woke it up, perhaps just after the question came.
        signal.setitimer(signal.ITIMER_REAL, 0)
        received = QUESTION.unpack(question)
        return received if received[0] else None

    def _wake_up(self, *_):
        if self._waiting:
            self._waiting = False
            raise TimeoutError

    def _reply(self, descriptor, question):
        number, call = question
        refusal = self._one_more_lock() if call == FCNTL else self._one_more_socket()
        answer = (-refusal, 0) if refusal else (0, CONTINUE)
        try:
            fcntl.ioctl(descriptor, SEND, ANSWER.pack(number, 0, *answer))
        except OSError:
            pass  # The process that asked is dead.

    def _one_more_socket(self):
        return 0 if sockets_in_use() < self._most_sockets else errno.ENFILE

    def _one_more_lock(self):
        if self._locks >= self._most_locks:
            self._locks = _count_locks(self._most_locks)
        if self._locks >= self._most_locks:
            return errno.ENOLCK
        self._locks += 1
        return 0


def _receive(descriptor, question):
    fcntl.ioctl(descriptor, RECEIVE, question)
    return QUESTION.unpack(question)


def sockets_in_use():
    """Sockets of all kinds in the container's network: `sockets: used 12`."""
    return int(_read("/proc/self/net/sockstat").split(b"\n", 1)[0].split()[-1])


def _count_locks(most):
    """Counts the locks of all processes but this one, up to `most`.

    If a process hides its locks, the answer is `most`.
    """
    count = 0
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or pid == "1":
            continue
        try:
            for number in os.listdir(f"/proc/{pid}/fdinfo"):
                try:
                    count += _read(f"/proc/{pid}/fdinfo/{number}").count(b"lock:")
                except FileNotFoundError:
                    pass
                if count >= most:
                    return count
        except (FileNotFoundError, ProcessLookupError):
            pass
        except OSError:
            return most
    return count


def _read(path):
    pieces = []
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while piece := os.read(descriptor, 65536):
            pieces.append(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def _somebody_may_ask(descriptor):
    import select

    poll = select.poll()
    poll.register(descriptor, 0)
    return not any(event & select.POLLHUP for _, event in poll.poll(0))
