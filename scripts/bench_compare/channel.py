"""A driver in another interpreter: started once, asked for some jobs per round, gone at the end of its input."""

from __future__ import annotations

import contextlib
import json
import select
import signal
import subprocess
import tempfile
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"
START_S = 90  # one of them builds an image
ROUND_S = 30
CLOSE_S = 10


class Failure(Exception):
    """A candidate that is here and did not do its part."""


class Channel:
    def __init__(self, python: str, module: str, *arguments: str) -> None:
        self._stderr = tempfile.TemporaryFile()
        # `-c`, not a path: multiprocessing would load a main file again in every child.
        command = [python, "-B", "-c", f"import {module}; {module}.main()", *arguments]
        # In a session of its own: a signal to our group must not keep it from tidying up when its
        # input ends.
        self._process = subprocess.Popen(
            command,
            cwd=DRIVERS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
        )
        try:
            self.version = self._answer(START_S)["version"]
        except BaseException:
            self.close()
            raise

    def jobs(self, count: int, rest_s: float) -> list[float]:
        """Milliseconds of each job."""
        with contextlib.suppress(BrokenPipeError):  # then it is gone, and the answer says why
            self._process.stdin.write(json.dumps({"count": count, "rest_s": rest_s}).encode() + b"\n")
            self._process.stdin.flush()
        return self._answer(ROUND_S)["times_ms"]

    def close(self) -> None:
        """Politely first: some have containers to remove."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        for signal_number in (signal.SIGINT, signal.SIGKILL):
            try:
                self._process.wait(CLOSE_S)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal_number)
        self._process.wait()
        self._process.stdout.close()
        self._stderr.close()

    def _answer(self, timeout_s: float) -> dict:
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            raise Failure(f"no answer within {timeout_s} s")
        line = self._process.stdout.readline()
        if not line:
            self._stderr.seek(0)
            said = self._stderr.read().decode(errors="replace").split("\n")
            raise Failure(
                next((text.strip() for text in reversed(said) if text.strip()), "ended without a word")
            )
        return json.loads(line)
