"""A script as a program: what `python FILE` does around it."""

import atexit
import gc
import io
import os
import sys
import threading

from .output import stderr
from .traces import own_frames, trace

#: The name of a script that was read from stdin, as `python -` has it.
FROM_STDIN = "-"


def introduce(module, name, path, script, args):
    """Gives a script its arguments and, if it has a name, a file of its own.

    The file is for whatever reads the source again: child processes, `inspect`, the script itself.
    """
    sys.argv = [path or _placeholder(name), *args]
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
    # Errors, line ends, name and mode are what Python gives to its own in this locale.
    raw = io.FileIO(0, closefd=False)
    raw.name = "<stdin>"
    lines = io.BufferedReader(raw)
    sys.stdin = io.TextIOWrapper(lines, encoding="utf-8", errors="surrogateescape", newline="\n")
    sys.stdin.mode = "r"
    sys.__stdin__ = sys.stdin


def wind_up(error=None):
    """What comes after the last line.

    An uncaught error goes to the script's own hook, if it has one. Threads that are not daemons
    finish. What is registered for the end happens last.
    """
    try:
        if sys.excepthook is not sys.__excepthook__ and not isinstance(error, (SystemExit, type(None))):
            _tell_hook(error)
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()


def _tell_hook(error):
    try:
        sys.excepthook(type(error), error, own_frames(error.__traceback__))
    except SystemExit:
        raise  # It may choose the exit code.
    except BaseException as another:
        print(f"Error in sys.excepthook:\n{trace(another)}", end="", file=stderr)


def let_go():
    """Lets go of the script's variables, as Python does last: files are written, `__del__` is called.

    Whoever calls this holds the script's module no longer.
    """
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    sys.excepthook = sys.__excepthook__
    variables = sys.modules["__main__"].__dict__
    # The module has them, and so do this function and the argument. A function of the script has
    # them too and is one of them: a circle, which the collector undoes. It finishes all objects
    # before it clears any, so that `__del__` still finds the variables.
    is_circle = sys.getrefcount(variables) > 3
    del variables
    if is_circle:
        # While all is in use, a collection puts objects before what they are made of. So files are
        # finished before their descriptors are.
        gc.collect()
    del sys.modules["__main__"]
    if is_circle:
        gc.collect()


def exit_code(error):
    """What a program that ends with this SystemExit tells whoever started it."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        # What does not fit into a C long is -1.
        return code & 0xFF if -sys.maxsize - 1 <= code <= sys.maxsize else 0xFF
    return 1


def say_why(error):
    """`sys.exit("why")` prints why."""
    if error.code is not None and not isinstance(error.code, int):
        try:
            print(error.code, file=stderr)
        except Exception:
            pass  # It cannot say why. Its exit code is 1 all the same.


def place_of(name):
    """Where a script of that name is. One that was read from stdin is nowhere."""
    return None if name is None or name == FROM_STDIN else os.path.join(os.getcwd(), name)


def _placeholder(name):
    return "-c" if name is None else name
