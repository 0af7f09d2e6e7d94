"""Ctrl-C from the host: raised in the script that is under way, and nowhere else."""

import _signal


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
        _signal.signal(_signal.SIGINT, self._between_scripts)

    def _between_scripts(self, _number, _frame):
        self._is_early = self._channel.is_being_asked()

    def begin(self):
        """Lets the script have the signal, by whatever handler it has set."""
        self._runs = True
        _signal.signal(_signal.SIGINT, self._handler)
        if self._is_early:
            self._is_early = False
            raise KeyboardInterrupt

    def end(self):
        """Takes the signal back. May be called twice, should the first call be interrupted."""
        if self._runs:
            self._channel.has_begun = self._channel.has_more()
            # None stands for a handler that is not Python's.
            handler = _signal.signal(_signal.SIGINT, self._between_scripts)
            self._handler = _signal.SIG_DFL if handler is None else handler
            self._runs = False
