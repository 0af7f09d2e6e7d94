"""`python -m belljar`: the `belljar` command that came with the package."""

from __future__ import annotations

import os
import sys

from .runtime import command


def main() -> None:
    """Becomes the command."""
    program = command()
    if program is None:
        sys.exit("belljar: the command is not beside the package, and not in the PATH")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
