"""What modules want done around a fork, and what a clone of the zygote needs instead.

The zygote has one thread and holds no lock. So locks and lists of threads need no repair after a
clone, and their hooks would only cost time in every cell. The hooks are kept back while modules
are imported. A cell runs those that matter and then registers all of them, for the script's own
forks.
"""

import os

_register_at_fork = os.register_at_fork
_kept = []


def _keep(**hooks):
    if os.register_at_fork is _keep:
        _kept.append(hooks)
    else:
        _register_at_fork(**hooks)


# Before anything else is imported: `threading` and `random` register hooks.
os.register_at_fork = _keep

import _signal  # noqa: E402
import _thread  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402

# Their hooks repair locks and lists of threads.
_NEED_NO_REPAIR = ("threading", "logging", "concurrent.futures.thread")

# What a cell runs first.
_repairs = []
main_thread = threading.main_thread()


class Generators:
    """Notices random generators that are made without a seed while tools are loaded.

    Each cell seeds them anew. A generator that was given a seed goes on as it was made, alike in
    every cell: that is what a seed is for.
    """

    def __init__(self):
        self._unseeded = []

    def __enter__(self):
        import random
        import weakref

        self._class, self._seed = random.Random, random.Random.seed
        original, unseeded = self._seed, self._unseeded

        def seed(generator, a=None, *rest, **named):
            original(generator, a, *rest, **named)
            unseeded[:] = [known for known in unseeded if known() not in (None, generator)]
            if a is None:
                unseeded.append(weakref.ref(generator))

        random.Random.seed = seed
        return self

    def __exit__(self, *_):
        self._class.seed = self._seed

    def seed_anew(self):
        for known in self._unseeded:
            generator = known()
            if generator is not None:
                generator.seed()


def repair_with(function):
    """Has every cell call `function` before it runs anything else."""
    _repairs.append(function)


def _change_authkey():
    process = sys.modules["multiprocessing.process"].current_process()
    process.authkey = os.urandom(32)


def prepare_for_clone():
    """Runs what hooks want done before a fork, and collects what cells have to do after it."""
    if "multiprocessing.process" in sys.modules:
        # Whoever knows the key may send objects to unpickle to the processes of a script.
        _repairs.append(_change_authkey)
    for hooks in _kept:
        if any(getattr(hook, "__module__", "") in _NEED_NO_REPAIR for hook in hooks.values()):
            continue
        if "before" in hooks:
            hooks["before"]()
        if "after_in_child" in hooks:
            _repairs.append(hooks["after_in_child"])
    if "numpy" in sys.modules:
        # Python's own generators are seeded by its fork hooks; numpy's global one is not.
        _repairs.append(sys.modules["numpy"].random.seed)


def repair_after_clone():
    """Does what `os.fork` would have done, as far as it matters. From here on `os.fork` does all of it."""
    for repair in _repairs:
        repair()
    os.register_at_fork = _register_at_fork
    for hooks in _kept:
        _register_at_fork(**hooks)
    main_thread._native_id = _thread.get_native_id()
    # The zygote ignores it, a cell does not, and Python must know.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
