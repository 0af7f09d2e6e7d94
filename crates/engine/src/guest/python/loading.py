"""How long tool files and modules may take to load, so that one that never ends is told by its name.

    an alarm ──► LoadTimeout where it hangs ──► why this file did not load
    if nothing comes of that (code in C, `except BaseException`): the process ends, and its last
    words are where it was

The host waits for all of them together, and a little longer than this.
"""

import _signal
from time import monotonic

#: Seconds for each, and for all together.
EACH, ALL = 60.0, 80.0
#: Seconds for one whose turn comes when the others took all.
LEAST = 1.0
#: Seconds after which whatever has not minded the alarm ends with the process.
GRACE = 10.0


class LoadTimeout(BaseException):
    """Raised where a file hangs. Not an Exception: `except Exception` must not swallow it."""


class Limit:
    """Bounds what is loaded in its `with` block. Nothing of it is left behind."""

    def __init__(self):
        self._left = ALL

    def __enter__(self):
        import faulthandler

        self._seconds = min(EACH, max(LEAST, self._left))
        self._armed, self._since = True, monotonic()
        self._handler = _signal.signal(_signal.SIGALRM, self._ring)
        # Again and again, for whoever swallows it.
        _signal.setitimer(_signal.ITIMER_REAL, self._seconds, 1.0)
        faulthandler.dump_traceback_later(self._seconds + GRACE, exit=True, file=2)

    def __exit__(self, *_):
        import faulthandler

        # Disarmed first: a signal already on its way then finds nothing to do.
        self._armed = False
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, self._handler)
        faulthandler.cancel_dump_traceback_later()
        self._left -= monotonic() - self._since

    def _ring(self, _number, _frame):
        if self._armed:
            raise LoadTimeout(f"it takes longer than {self._seconds:g} s")
