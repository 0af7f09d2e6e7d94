#!/usr/bin/env python3
# vim: set ts=4:
"""Everything a tidy module has."""

from __future__ import annotations

__all__ = ["main"]
__version__ = "0.1.0"
__author__ = "somebody"

import sys


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    print(f"{__doc__} version {__version__} by {__author__}, args {argv}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
