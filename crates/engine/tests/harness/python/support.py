"""Loads the package as a guest does, and gives tests what a host would."""

import importlib
import importlib.util
import json
import os
import pathlib
import socket
import sys
import tempfile
import textwrap
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "src" / "guest" / "python"


def load():
    """The package by the name that it has in guests. Its directory has another one in the repository."""
    if "belljar_harness" not in sys.modules:
        spec = importlib.util.spec_from_file_location("belljar_harness", PACKAGE / "__init__.py")
        sys.modules["belljar_harness"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
        # A guest loads it when it is first asked something.
        for late in ("commands", "inquiry", "terminals"):
            importlib.import_module(f"belljar_harness.{late}")
        package.values.rules.adopt(
            {"deepest": 60, "longest_integer": 4000, "seconds_after_result": 0.1, "most_displays": 50}
        )
    return sys.modules["belljar_harness"]


harness = load()


def request(script="", **fields):
    usual = {"type": "execute", "execution_id": "e-1", "seal": "s-1", "script": script, "mode": "plan"}
    limits = {"timeout": 30.0, "max_output_bytes": 1 << 20, "required_secrets": [], "secrets": {}}
    return {**usual, **limits, **fields}


class Host:
    """The other end of a channel."""

    def __init__(self):
        self._ours, self._theirs = socket.socketpair()
        self.channel = harness.channel.Channel(self._theirs.fileno())

    def send(self, data):
        self._ours.sendall(data)

    def hang_up(self):
        self._ours.close()

    def frames(self):
        """All that was sent until now, as bytes and as JSON."""
        received = b""
        while True:
            try:
                piece = self._ours.recv(1 << 20, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            if not piece:
                break
            received += piece
        return [json.loads(line) for line in received.splitlines() if line]

    def close(self):
        self._ours.close()
        self._theirs.close()


def run(*requests, module=None):
    """Runs requests one after the other, with stdout and stderr elsewhere. The frames of all."""
    host = Host()
    scripts = harness.scripts.Scripts(harness.interrupts.Interrupts(host.channel), module)
    main, out = sys.modules["__main__"], os.open(os.devnull, os.O_WRONLY)
    kept = [os.dup(1), os.dup(2)]
    streams = sys.stdout, sys.stderr
    harness.output.flush()
    for stream in streams:
        stream.flush()
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.stdout, sys.stderr = harness.output.stdout, harness.output.stderr
    try:
        for each in requests:
            scripts.execute(host.channel, each)
        return host.frames()
    finally:
        harness.output.flush()
        sys.stdout, sys.stderr = streams
        for number, old in zip((1, 2), kept):
            os.dup2(old, number)
            os.close(old)
        os.close(out)
        sys.modules["__main__"] = main
        host.close()


class Place(unittest.TestCase):
    """Has a directory for files."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = directory.name

    def write(self, path, text):
        path = os.path.join(self.place, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
