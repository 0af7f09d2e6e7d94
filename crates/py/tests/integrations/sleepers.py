"""Code for cells, whose effect a test can see from outside."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

_numbers = itertools.count()

# Shows a picture of one dot.
DOT = """
import struct, zlib

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

class Dot:
    def _repr_png_(self):
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
        body = chunk(b"IDAT", zlib.compress(b"\\0\\xff\\0\\0"))
        return b"\\x89PNG\\r\\n\\x1a\\n" + head + body + chunk(b"IEND", b"")

display(Dot())
"""


class Sleeper:
    """A program that sleeps in a cell, under a number that no other has."""

    def __init__(self) -> None:
        self.seconds = f"600.{os.getpid()}{next(_numbers):04}"
        self.python = f"import subprocess\nsubprocess.run(['sleep', '{self.seconds}'])"
        self.shell = f"sleep {self.seconds}; :"

    def runs(self) -> bool:
        """Whether it is among the processes of this machine."""
        for entry in os.listdir("/proc"):
            try:
                told = Path(f"/proc/{entry}/cmdline").read_bytes() if entry.isdigit() else b""
            except OSError:
                continue
            if told == f"sleep\0{self.seconds}\0".encode():
                return True
        return False
