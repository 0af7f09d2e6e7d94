"""A Python program that loads Belljar as a shared library: ctypes_host.py LIBRARY KIND [SCRIPT].

  plain      runs a script
  strict     does so after it blocked every signal, ignored some, and changed limits, priority
             and umask
  forks      forks a child that sleeps, prints its number, and exits without a word to the library
  shuts-down forks such a child, and shuts the library down while the child lives

It prints what the library says: the verdict, the result as JSON, the script's own output.
"""

import ctypes
import os
import resource
import signal
import sys

OUT = ctypes.create_string_buffer(256 * 1024)


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.check(self.functions.belljar_host_start(OUT, ctypes.c_size_t(len(OUT))))

    def run(self, script):
        self.check(self.functions.belljar_host_run(script.encode(), OUT, ctypes.c_size_t(len(OUT))))
        return OUT.value.decode()

    def shut_down(self):
        self.check(self.functions.belljar_host_shutdown())

    @staticmethod
    def check(code):
        if code:
            sys.exit(OUT.value.decode())


def be_strict():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.umask(0o077)
    os.nice(5)
    gigabyte = 1 << 30
    soft_only = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (16 * gigabyte, soft_only))
    resource.setrlimit(resource.RLIMIT_CPU, (3000, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def fork_a_sleeper():
    """A child that holds a copy of every descriptor, until somebody kills it."""
    child = os.fork()
    if child == 0:
        # Nobody waits for what this process would still have to say.
        for number in (0, 1, 2):
            os.close(number)
        while True:
            signal.pause()
    return child


def main():
    path, kind = sys.argv[1:3]
    script = sys.argv[3] if len(sys.argv) > 3 else "emit_result(6 * 7)"
    if kind == "strict":
        be_strict()
    library = Library(path)
    print(library.run(script), flush=True)
    if kind == "forks":
        print("child", fork_a_sleeper(), flush=True)
        # The test looks at what is there, and then says to go on.
        sys.stdin.readline()
        os._exit(0)
    if kind == "shuts-down":
        child = fork_a_sleeper()
        library.shut_down()
        print("shut down", flush=True)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return
    library.shut_down()


main()
