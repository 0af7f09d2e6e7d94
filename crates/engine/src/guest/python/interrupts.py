"""Ctrl-C from the host: raised in the script that is under way, and nowhere else."""

import _signal


class Interrupts:
    """Gives SIGINT to the script while it runs. Between two scripts the harness takes it.

    A signal does not say which script it is for. It may come before its script begins, or just after
    its script has ended. So the host announces it on the channel, by the script's seal, before it
    sends it. A signal that nobody was there for is raised in the script that it was announced to.
    Others are forgotten. By the time a request comes, every signal from before it has come too.
    """

    def __init__(self, channel):
        self._channel = channel
        self._handler = _signal.default_int_handler
        self._runs = False
        self._has_come = False
        _signal.signal(_signal.SIGINT, self._between_scripts)

    def _between_scripts(self, _number, _frame):
        self._has_come = True

    def begin(self, seal):
        """Lets the script have the signal, by whatever handler it has set."""
        self._runs = True
        # Python first handles a signal that has come, which is still ours.
        _signal.signal(_signal.SIGINT, self._handler)
        if self._has_come:
            self._has_come = False
            if self._is_announced(seal):
                raise KeyboardInterrupt

    def _is_announced(self, seal):
        return any(
            frame.get("type") == "interrupt" and frame.get("seal") == seal for frame in self._channel.ahead()
        )

    def end(self):
        """Takes the signal back. May be called twice, should the first call be interrupted."""
        if self._runs:
            # None stands for a handler that is not Python's.
            handler = _signal.signal(_signal.SIGINT, self._between_scripts)
            self._handler = _signal.SIG_DFL if handler is None else handler
            self._runs = False
