"""Notices when a guest makes its first socket of the Internet families.

From then on the container's network namespace is not as it was, and nobody can say how: ports, routes, labels, groups and
counters all outlive their socket. So the container is not used again.

The kernel asks about every such call and waits for the answer. It is yes unless there are very many sockets already: what
they hold is memory that control groups of version 1 do not count.
"""

import errno
import fcntl
import os
import struct
import threading

RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
QUESTION, ANSWER = struct.Struct("=Q72x"), struct.Struct("=QqiI")
#: Sockets of all kinds that a container may have at once.
MOST = 256


class Sockets:
    """What is known of the sockets of this container. Without a listener anything may have been made."""

    def __init__(self, listener):
        self.descriptor = listener
        self.were_made = listener is None

    def notice(self):
        """Somebody asks for the first time, or will: from now on a thread answers, and nothing is forked any more."""
        self.were_made = True
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is None:
            return
        try:
            threading.Thread(target=_answer_all, args=(descriptor,), name="sockets", daemon=True).start()
        except RuntimeError:
            # The guest has used up all processes. One answer; the next question brings us here again.
            _answer(descriptor)
            self.descriptor = descriptor


def _answer_all(descriptor):
    while True:
        try:
            _answer(descriptor)
        except OSError:
            # Who asked is dead. Only where nobody is left who could ask does it go on like this.
            if not _somebody_may_ask(descriptor):
                return


def _answer(descriptor):
    question = bytearray(QUESTION.size)
    fcntl.ioctl(descriptor, RECEIVE, question)
    (number,) = QUESTION.unpack(question)
    answer = (0, CONTINUE) if _in_use() < MOST else (-errno.ENFILE, 0)
    fcntl.ioctl(descriptor, SEND, ANSWER.pack(number, 0, *answer))


def _in_use():
    descriptor = os.open("/proc/self/net/sockstat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        first = os.read(descriptor, 4096).split(b"\n", 1)[0]  # sockets: used 12
    finally:
        os.close(descriptor)
    return int(first.split()[-1])


def _somebody_may_ask(descriptor):
    import select

    poll = select.poll()
    poll.register(descriptor, 0)
    return not any(event & select.POLLHUP for _, event in poll.poll(0))
