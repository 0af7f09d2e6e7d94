"""A Python program that loads Belljar as a shared library: ctypes_host.py LIBRARY KIND [SCRIPT [SECONDS]].

  plain        runs a script
  strict       does so after it blocked every signal, ignored some, and changed limits, priority
               and umask
  forks        forks a child that sleeps, prints its number, waits for a line on its standard input,
               and exits without a word to the library
  shuts-down   forks such a child, and shuts the library down while the child lives
  forks-often  does everything while a thread forks such children all the time

It prints what the library says: the verdict, the result as JSON, the traceback, the output.
"""

import ctypes
import os
import resource
import signal
import sys
import threading

OUT = ctypes.create_string_buffer(256 * 1024)
ROOM = ctypes.c_size_t(len(OUT))


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.check(self.functions.belljar_host_start(OUT, ROOM))

    def run(self, script, seconds=60.0):
        within = ctypes.c_uint64(int(seconds * 1000))
        self.check(self.functions.belljar_host_run(script.encode(), within, OUT, ROOM))
        return OUT.value.decode()

    def shut_down(self):
        self.check(self.functions.belljar_host_shutdown())

    @staticmethod
    def check(code):
        if code:
            sys.exit(OUT.value.decode())


def be_strict():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.umask(0o077)
    os.nice(5)
    lower = {resource.RLIMIT_AS: 16 << 30, resource.RLIMIT_CPU: 3000, resource.RLIMIT_STACK: 1 << 20}
    for limit, value in lower.items():
        resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))


def fork_a_sleeper():
    """A child that holds a copy of every descriptor, until somebody kills it."""
    child = os.fork()
    if child == 0:
        # The test reads what this program prints to its end.
        for number in (0, 1, 2):
            os.close(number)
        while True:
            signal.pause()
    return child


def end(children):
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def fork_often(path, script):
    most, children, over = 200, [], threading.Event()

    def fork_them():
        while len(children) < most and not over.wait(0.002):
            children.append(fork_a_sleeper())

    forking = threading.Thread(target=fork_them)
    forking.start()
    try:
        for _ in range(3):
            library = Library(path)
            for _ in range(5):
                print(library.run(script), flush=True)
            library.shut_down()
    finally:
        over.set()
        forking.join()
        end(children)


def main():
    path, kind = sys.argv[1:3]
    script = sys.argv[3] if len(sys.argv) > 3 else "emit_result(6 * 7)"
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 60.0
    if kind == "forks-often":
        return fork_often(path, script)
    if kind == "strict":
        be_strict()
    library = Library(path)
    print(library.run(script, seconds), flush=True)
    if kind == "forks":
        print("child", fork_a_sleeper(), flush=True)
        sys.stdin.readline()
        os._exit(0)
    if kind == "shuts-down":
        child = fork_a_sleeper()
        library.shut_down()
        print("shut down", flush=True)
        return end([child])
    library.shut_down()


main()
