"""Gives up rights, for the supervisor and every guest. Python has no names for these calls."""

import ctypes
import os

NOBODY = "65534"

libc = ctypes.CDLL(None, use_errno=True)


def prctl(option, *arguments):
    padded = [ctypes.c_ulong(argument) for argument in arguments] + [ctypes.c_ulong(0)] * (4 - len(arguments))
    if libc.prctl(option, *padded) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 4, 22, 38, 2
SECCOMP_SET_MODE_FILTER, NEW_LISTENER = 1, 8
SECCOMP = {"x86_64": 317, "aarch64": 277}


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def refuse_calls(home):
    """Installs the filter of zygotes and cells of every engine, before any other code runs."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _install(f"{home}/filter")


def refuse_more_calls(home):
    """Installs the additional filter of guests, once everything that they share is loaded.

    Returns the descriptor on which the kernel asks about sockets. Returns None if an outer filter
    asks already.
    """
    program = _program(f"{home}/filter-watched")
    call = ctypes.c_long(SECCOMP[os.uname().machine])
    listener = libc.syscall(call, SECCOMP_SET_MODE_FILTER, NEW_LISTENER, ctypes.byref(program))
    if listener >= 0:
        return listener
    _install(f"{home}/filter-unwatched")
    return None


def _program(path):
    with open(path, "rb") as file:
        code = file.read()
    return _Filter(len(code) // 8, code)


def _install(path):
    program = _program(path)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))


def set_login_id():
    """Sets the login id to nobody.

    A process without a login id may choose any, once. The host's audit log would then show what a
    guest does as done by somebody else.
    """
    try:
        with open("/proc/self/loginuid", "w") as file:
            file.write(NOBODY)
    except OSError:
        pass  # It has a login id already, or this kernel has none.
