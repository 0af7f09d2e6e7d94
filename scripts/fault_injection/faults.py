"""Which system calls fail, how, and where."""

import collections
import re
import subprocess

ERRORS = ("EMFILE", "ENOMEM", "EAGAIN", "ENOSPC", "EIO", "EINTR")

#: Which of a process's calls of one name fails: the first few, and some further on.
PLACES = (1, 2, 3, 5, 8, 13, 21, 34)

#: Calls whose failure is not the program's to answer: the C library ends the process, or they
#: cannot fail.
BEYOND_US = {
    "arch_prctl",
    "brk",
    "exit",
    "exit_group",
    "futex",
    "gettid",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "restart_syscall",
    "rt_tgsigqueueinfo",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
    "tgkill",
}

#: Errors that these calls never give, and that nobody is prepared for.
IMPOSSIBLE = {
    # The loader is not prepared for anything.
    **{call: set(ERRORS) - {"ENOMEM"} for call in ("mmap", "mprotect", "mremap", "munmap")},
    "close": set(ERRORS) - {"EINTR"},
    # "Nothing yet" where there is something: whoever believes it waits for news that never come.
    "recvmsg": {"EAGAIN"},
    "poll": {"EMFILE", "ENOSPC", "EIO"},
    "epoll_wait": {"EMFILE", "ENOMEM", "EAGAIN", "ENOSPC", "EIO"},
    "epoll_pwait": {"EMFILE", "ENOMEM", "EAGAIN", "ENOSPC", "EIO"},
    "clock_nanosleep": {"EMFILE", "ENOMEM", "EAGAIN", "ENOSPC", "EIO"},
    "nanosleep": {"EMFILE", "ENOMEM", "EAGAIN", "ENOSPC", "EIO"},
    "clock_gettime": set(ERRORS),
    "getpid": set(ERRORS),
    "getuid": set(ERRORS),
    "geteuid": set(ERRORS),
    "getgid": set(ERRORS),
    "getegid": set(ERRORS),
    "umask": set(ERRORS),
    "getrandom": {"EMFILE", "ENOMEM", "ENOSPC", "EIO", "EAGAIN"},
    "sched_yield": set(ERRORS),
}


def calls_of(command, script):
    """How often each call is made by the process that makes it most, in one run."""
    done = subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/stderr", *command],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    counts = collections.Counter()
    for process, call in re.findall(r"^(\d+) +(\w+)\(", done.stderr, re.M):
        counts[call, process] += 1
    most = collections.defaultdict(int)
    for (call, _), count in counts.items():
        most[call] = max(most[call], count)
    return dict(most)


def all_faults(counts):
    """Every fault to try, as strace is told it."""
    for call in sorted(set(counts) - BEYOND_US):
        for error in ERRORS:
            if error in IMPOSSIBLE.get(call, ()):
                continue
            for place in PLACES:
                # The first of these are the loader's, or wake a sleeping event loop.
                if place == 1 and call in ("mmap", "write"):
                    continue
                if place <= counts[call]:
                    yield f"{call}:error={error}:when={place}"
