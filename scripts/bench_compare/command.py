"""A command, run to its end."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .channel import Failure

JOB_S = 20


def run(command: list[str], timeout_s: float = JOB_S, given: str = "") -> str:
    """What a command printed, if it went well."""
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0]}: no end within {timeout_s} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise Failure(f"{Path(command[0]).name} exited with {done.returncode}: {said[-1]}")
    return done.stdout
