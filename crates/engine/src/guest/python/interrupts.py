"""Ctrl-C from the host: raised in the script that is under way, and nowhere else."""

import _signal
import time

_now = time.monotonic_ns
#: A signal may be handled just after the first bytes of its request were taken and before that is
#: noted. So one that came so shortly before belongs to the request.
A_MOMENT = 1_000_000


class Interrupts:
    """Gives SIGINT to the script while it runs. Between two scripts the harness takes it.

    The host sends SIGINT after a request. It may come before the request is read, and is then kept
    for that script. It may also come just after the script has ended, and is then forgotten.
    """

    def __init__(self, channel):
        self._channel = channel
        self._handler = _signal.default_int_handler
        self._runs = False
        self._is_early = False
        self._came_at = None
        _signal.signal(_signal.SIGINT, self._between_scripts)

    def _between_scripts(self, _number, _frame):
        self._is_early = self._channel.is_being_asked()
        self._came_at = _now()

    def begin(self):
        """Lets the script have the signal, by whatever handler it has set."""
        self._runs = True
        _signal.signal(_signal.SIGINT, self._handler)
        if self._came_at is not None:
            is_early = self._is_early or 0 <= self._channel.begun_at - self._came_at < A_MOMENT
            self._is_early, self._came_at = False, None
            if is_early:
                raise KeyboardInterrupt

    def end(self):
        """Takes the signal back. May be called twice, should the first call be interrupted."""
        if self._runs:
            self._channel.has_begun = self._channel.has_more()
            # None stands for a handler that is not Python's.
            handler = _signal.signal(_signal.SIGINT, self._between_scripts)
            self._handler = _signal.SIG_DFL if handler is None else handler
            self._runs = False
