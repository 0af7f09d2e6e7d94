"""Starts the Python guest: the package `belljar_harness`, which the host puts beside this file.

    python3 -I -S -B harness.py             a zygote: prepares once, and is cloned for every cell
    python3 -I -S -B harness.py --channel N one cell: prepares, then serves on descriptor N

The package is loaded under its own name and not from the path of scripts. `__main__` becomes the
script, and what is on its path is the script's.
"""

import os
import sys

HOME = os.path.dirname(os.path.abspath(__file__))


def load():
    # At the end, so that nothing here hides a module of the standard library.
    sys.path.append(HOME)
    import belljar_harness

    sys.path.remove(HOME)
    return belljar_harness


if __name__ == "__main__":
    harness = load()
    if len(sys.argv) == 3 and sys.argv[1] == "--channel":
        number = int(sys.argv[2])
        # The script's arguments are none.
        del sys.argv[1:]
        harness.single(number)
    else:
        harness.zygote()
