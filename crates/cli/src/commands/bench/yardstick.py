"""Forks a warmed interpreter into bare namespaces. Cells are compared with it.

The argument is the number of children. Each child has its own user, pid, mount, ipc, uts and
network namespaces and a tmpfs. It runs a small script to touch the pages it needs, reports that it
is ready, and answers one request. It has no ids of its own, no limits and no filters. Nothing is
reaped or reported.

Prints JSON: the milliseconds to make each child, and the microseconds of each first request.
"""

import ctypes
import gc
import json
import os
import platform
import signal
import socket
import sys
import time

NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
PRIVATE_RECURSIVE, NOSUID_NODEV = 0x44000, 6
CLONE = {"x86_64": 56, "aarch64": 220}[platform.machine()]
SCRIPT = "emit_result({'answer': 42})"

libc, api = ctypes.CDLL(None, use_errno=True), ctypes.pythonapi


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def run(line, send):
    exec(
        compile(json.loads(line)["script"], "<script>", "exec"),
        {"emit_result": lambda data: send(json.dumps({"data": data}).encode() + b"\n")},
    )


def child(channel):
    check(libc.mount(b"none", b"/", None, PRIVATE_RECURSIVE, None))
    check(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", NOSUID_NODEV, b"size=64m"))
    for _ in range(3):
        run(json.dumps({"script": SCRIPT}), lambda _: None)
    channel.sendall(b"ready\n")
    run(channel.recv(65536), channel.sendall)
    os._exit(0)


def main(count):
    gc.collect()
    gc.freeze()
    cells, begun = [], time.perf_counter()
    for _ in range(count):
        ours, theirs = socket.socketpair()
        api.PyOS_BeforeFork()
        pid = check(libc.syscall(CLONE, NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0))
        if pid == 0:
            api.PyOS_AfterFork_Child()
            child(theirs)
        api.PyOS_AfterFork_Parent()
        theirs.close()
        cells.append((pid, ours))
    for _, channel in cells:
        channel.recv(64)
    each = (time.perf_counter() - begun) / count * 1e3
    request, first = json.dumps({"script": SCRIPT}).encode() + b"\n", []
    for pid, channel in cells:
        asked = time.perf_counter()
        channel.sendall(request)
        channel.recv(1024)
        first.append((time.perf_counter() - asked) * 1e6)
        os.waitpid(pid, 0)
    print(json.dumps({"each_ms": each, "first_us": first}))


main(int(sys.argv[1]))
