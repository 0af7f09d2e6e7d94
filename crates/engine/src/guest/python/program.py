"""A script as a program: what `python FILE` does around it."""

import atexit
import os
import sys
import threading

from .output import stderr


def introduce(module, path, script, args):
    """Gives a script its arguments and, if it has a name, a file of its own.

    The file is for whatever reads the source again: child processes, `inspect`, the script itself.
    """
    sys.argv = [path or "-c", *args]
    if path is None:
        return
    module.__file__ = path
    try:
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(script)
    except OSError:
        pass  # It is there already, or there is no room. The script runs all the same.


def attach_stdin(execution, channel):
    """Asks the host for what there is to read, and makes it descriptor 0."""
    execution.stdin()
    descriptor = channel.receive_descriptor()
    if descriptor is not None:
        os.dup2(descriptor, 0)
        os.close(descriptor)
        _reopen()


def detach_stdin():
    """Nothing is left to read for whatever runs next."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _reopen()


def _reopen():
    # What was read ahead from the descriptor before is not for this script.
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)


def wind_up():
    """After the last line: threads that are not daemons finish, then what is registered for the end."""
    threading._shutdown()
    atexit._run_exitfuncs()


def exit_code(error):
    """What a program that ends with this SystemExit tells whoever started it."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    return 1


def say_why(error):
    """`sys.exit("why")` prints why."""
    if error.code is not None and not isinstance(error.code, int):
        print(error.code, file=stderr)


def place_of(name):
    """Where a script of that name is."""
    return None if name is None else os.path.join(os.getcwd(), name)
