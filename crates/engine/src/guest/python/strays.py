"""Threads and processes that outlive the step of a session that started them.

They may: a server, a pool of workers. But nobody can tell what they say from what the current step
says. So that step says in a log line that they are there.
"""

import _thread
import os

from .forks import main_thread

# Asked in every print and every frame of a run, so it is no more than a flag.
exist = False
# Threads of ours that work for every step.
tool_threads = set()


class Strays:
    """What is left of earlier steps, and whether it spoke during this one."""

    def __init__(self):
        self._steps = 0
        # By the kernel's numbers, which are not given away again soon.
        self._threads = set()
        self.a_thread_spoke = False

    def begin_step(self, execution):
        self._steps += 1
        self.a_thread_spoke = False
        if self._steps > 1 and _has_children():
            execution.log(
                "a process of an earlier step is still there; what it prints counts as this step's", "info"
            )

    def end_step(self, execution):
        global exist
        if self.a_thread_spoke:
            execution.log(
                "a thread of an earlier step has printed or emitted; that counts as this step's", "warning"
            )
        if _thread._count():
            self._threads.update(int(number) for number in os.listdir("/proc/self/task"))
            self._threads.difference_update(tool_threads, (main_thread.native_id,))
            exist = bool(self._threads)

    def note_speaker(self):
        if not self.a_thread_spoke and _thread.get_native_id() in self._threads:
            self.a_thread_spoke = True


strays = Strays()
note_speaker = strays.note_speaker


def _has_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
