"""Tries imports in a process that is thrown away, so that a failure leaves no trace.

    zygote ─fork─► trial: imports one module after the other, and looks at what each leaves behind
           ◄────── a line for each: it is fine, it failed, or what it left
    zygote: imports what is fine; the next trial begins behind the first module that is not

A module that fails half way stays in `sys.modules` in part, and nothing can take that back. And a
cell is a copy of the zygote's memory alone: it has none of its threads, children and descriptors.
So a module that leaves one of these behind is not for the zygote either.

There are no cells yet. So whatever else runs beside a PID 1 was started by the trial.
"""

import importlib
import json
import os
import select
import signal
import threading
import time

from .traces import cause

#: Seconds for all trials of a template. Hosts wait longer than that, but not for ever.
BUDGET = 30.0
#: Seconds that a thread has to end by itself. A timer that was cancelled needs a moment.
GRACE = 1.0


class Problem:
    """Why a module is not imported ahead. A cell can still import it, unless it has failed."""

    def __init__(self, text, failed, hangs=False):
        self.text, self.failed, self.hangs = text, failed, hangs


def tried(names, scratch):
    """Yields each module's name with its problem, or with None."""

    def attempt(name, tell):
        before = _descriptors()
        try:
            importlib.import_module(name)
            tell({"left": _left_behind(before, scratch)})
        except BaseException as error:
            tell({"failed": cause(error)})

    return tried_by(attempt, names)


def tried_by(attempt, names):
    """Yields each name with its problem, or with None. `attempt` runs in the trial and tells how it went.

    Whoever asks imports what is fine before they ask for the next one.
    """
    deadline = time.monotonic() + BUDGET
    while names and time.monotonic() < deadline:
        outcomes = _try_in_a_fork(attempt, names, deadline)
        yield from zip(names, outcomes)
        names = names[len(outcomes) :]
    for name in names:
        yield name, Problem("the modules before it took too long", failed=False)


def _try_in_a_fork(attempt, names, deadline):
    """Tries names in a row, up to the first that has a problem."""
    # Whoever ignores this signal is not told how a child ended.
    handler = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    lines, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _try_all(attempt, names, theirs)
        finally:
            os._exit(0)
    os.close(theirs)
    outcomes, silent = [], False
    for line in _lines(lines, deadline):
        outcomes.append(_problem(line))
        if outcomes[-1] is not None or len(outcomes) == len(names):
            break
    else:
        silent = True
    os.close(lines)
    hangs = silent and time.monotonic() >= deadline
    status = _end(pid)
    signal.signal(signal.SIGCHLD, handler)
    if silent:
        why = f"it takes longer than {BUDGET:.0f} s" if hangs else _how_it_ended(status)
        outcomes.append(Problem(why, failed=True, hangs=hangs))
    return outcomes


def _problem(line):
    said = json.loads(line)
    if "failed" in said:
        return Problem(said["failed"], failed=True)
    return Problem(said["left"], failed=False) if said["left"] else None


def _lines(descriptor, deadline):
    """What the trial says, until it is dead or the time is up."""
    poll, text = select.poll(), b""
    poll.register(descriptor, select.POLLIN)
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        piece = os.read(descriptor, 4096)
        if not piece:
            return
        text += piece
        *whole, text = text.split(b"\n")
        yield from whole


def _end(pid):
    """Ends the trial and what it started. Returns how it ended."""
    # Not `-1` for others: those are all processes of a user.
    os.kill(-1 if os.getpid() == 1 else pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    while os.getpid() == 1:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return status


def _how_it_ended(status):
    if os.WIFEXITED(status):
        return f"it ended the process with code {os.WEXITSTATUS(status)}"
    return f"it was ended by {signal.Signals(os.WTERMSIG(status)).name}"


def _try_all(attempt, names, descriptor):
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    said = {}

    def tell(outcome):
        said.update(outcome)
        os.write(descriptor, json.dumps(outcome).encode() + b"\n")

    for name in names:
        attempt(name, tell)
        if said.get("failed") or said.get("left"):
            return


def _left_behind(before, scratch):
    """What the last module left that a copy of this process would not have, in words."""
    if threads_are_left():
        return "a thread"
    if _has_children():
        return "a child process"
    for number, target in _descriptors().items():
        if before.get(number) != target:
            return "an open socket" if target.startswith("socket:") else f"{target} open"
    return _mapped(scratch)


def threads_are_left():
    """Whether there are threads besides this one that neither end soon nor make way for a fork."""
    deadline, forked = time.monotonic() + GRACE, False
    while _threads() > 1:
        if not forked:
            # Numeric libraries end their idle threads before a fork, and start them again later.
            forked = True
            _fork_for_nothing()
        elif time.monotonic() >= deadline:
            return True
        else:
            time.sleep(0.005)
    return False


def _threads():
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:  # Not every system has it, and there only a local cell is tried.
        return threading.active_count()


def _fork_for_nothing():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass  # The signal is ignored here, and the child is gone.


def _has_children():
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return True
        except ChildProcessError:
            return False


def _descriptors():
    """What is open here, by number."""
    found = {}
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return found
    for number in numbers:
        try:
            found[number] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            pass  # It was the list itself.
    return found


def _mapped(scratch):
    """A file in memory that is mapped. It would count as somebody's for as long as the zygote lives."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = [line.split(maxsplit=5)[5].rstrip() for line in maps if line.count("/")]
    except OSError:
        return None
    for path in paths:
        if any(path.startswith(place + "/") for place in scratch):
            return f"{path} mapped"
    return None
