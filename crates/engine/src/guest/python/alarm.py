"""The guest's own time limit."""

import _signal
from time import monotonic


class ScriptTimeout(BaseException):
    """Raised in the script when its time is up. Not an Exception: `except Exception` must not swallow it."""

    __module__ = "__main__"


class Alarm:
    """Raises `ScriptTimeout` in the script, for the sake of its traceback.

    The limit that holds is the host's. A script may set an alarm of its own; in a program one that
    is not handled is deadly, as it is without us.
    """

    def __init__(self, seconds, in_a_program=False):
        self._seconds = seconds
        self._armed = False
        self._in_a_program = in_a_program
        self._due = 0.0

    def _ring(self, _number, _frame):
        if not self._armed:
            return
        if self._in_a_program and monotonic() < self._due:
            _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
            _signal.raise_signal(_signal.SIGALRM)
        self._armed = False
        raise ScriptTimeout()

    def __enter__(self):
        # Not `signal.signal`, which turns numbers into enumerations and back.
        _signal.signal(_signal.SIGALRM, self._ring)
        self._armed = True
        # Before it is set, so that it never rings too early.
        self._due = monotonic() + self._seconds
        _signal.setitimer(_signal.ITIMER_REAL, self._seconds)

    def hasten(self, seconds):
        """Rings after so long, if it would have rung later."""
        if self._armed:
            left, _ = _signal.setitimer(_signal.ITIMER_REAL, seconds)
            if 0 < left < seconds:
                _signal.setitimer(_signal.ITIMER_REAL, left)

    def __exit__(self, *_):
        # Disarmed first: a signal already on its way then finds nothing to do.
        self._armed = False
        _signal.setitimer(_signal.ITIMER_REAL, 0)
