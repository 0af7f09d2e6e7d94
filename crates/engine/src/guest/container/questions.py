"""What this process is asked about: things of the kernel's that no limit counts.

The kernel asks before a guest makes a socket of the Internet families, a connection, or a lock on a
part of a file. It waits for the answer. The answer is yes until there are too many.

A socket of the Internet families also ends the container's use. From then on its network namespace
is not as it was, and nobody can say how: ports, routes, labels and counters outlive their socket.
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
#: Who asked may have died since the kernel said so; to receive would then be to wait for the next one.
WAKE_UP = 0.01


class Questions:
    """What is asked in this container, and what was answered.

    Without a listener nobody asks, and anything may have been made.
    """

    def __init__(self, listener, most_sockets, most_locks):
        self.descriptor = listener
        self._most_sockets, self._most_locks = most_sockets, most_locks
        self.sockets_were_made = listener is None
        self._locks = 0
        self._waiting = False
        signal.signal(signal.SIGALRM, self._wake_up)

    def answer(self, tell_of_sockets):
        """Somebody asks, or did."""
        question = self._receive_soon()
        if question is None:
            return
        if question[1] == SOCKET:
            # Told before it is made: the host must never think that there was none.
            tell_of_sockets()
            self.answer_elsewhere(question)
        else:
            self._reply(self.descriptor, question)

    def answer_elsewhere(self, question=None):
        """From now on a thread answers, and nothing is forked any more."""
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
            pass  # The guest has used up all processes. The next question brings us here again.

    def _answer_all(self, descriptor):
        while True:
            try:
                self._reply(descriptor, _receive(descriptor, bytearray(QUESTION.size)))
            except OSError:
                # Who asked is dead. Only where nobody is left who could ask does it go on like this.
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
            pass  # Woken up, perhaps just after it came.
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
            pass  # Who asked is dead.

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
    """Of all kinds, in the container's network: `sockets: used 12`."""
    return int(_read("/proc/self/net/sockstat").split(b"\n", 1)[0].split()[-1])


def _count_locks(most):
    """Those of all processes but this one, up to so many.

    A process that hides its own counts as one too many.
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
