"""What the supervisor gives up for itself and every guest, through calls that Python has no names for."""

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


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def refuse_calls(path):
    """Installs the filters that cells of every engine have: each with its length in front."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    with open(path, "rb") as file:
        rest = file.read()
    while rest:
        size = int.from_bytes(rest[:4], "little")
        code, rest = rest[4 : 4 + size], rest[4 + size :]
        program = _Filter(size // 8, code)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))


def settle_login():
    """Who has no login id may take any, once: the host's audit log would show a guest's deeds as somebody else's. Nobody takes it first."""
    try:
        with open("/proc/self/loginuid", "w") as file:
            file.write(NOBODY)
    except OSError:
        pass  # It has one, or this kernel knows none.
