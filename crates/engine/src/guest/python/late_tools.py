"""Tool files that read a secret while they are loaded. They are loaded in the cell.

The zygote has no secrets. So where a config has any, every file is tried in a process that is thrown
away, with an environment that notices:

    zygote ─fork─► trial: imports one file after the other ─► it asks for a secret: told, and over
    zygote: imports the others, which stay warm
    cell:   the first request brings the secrets ─► imports the rest ─► runs the script

What a library in C asks the system for itself is not noticed.
"""

import contextlib
import os
import sys

from . import namespace
from .alarm import ScriptTimeout
from .namespace import ToolsNotLoaded, base_globals
from .traces import cause
from .trial import tried_by

#: Says of a file that it is loaded in the cell.
LATE = object()


def tried(files, directory, secrets):
    """Yields each file with why it failed, with `LATE`, or with None if it can be loaded here and now."""
    if not secrets:
        yield from ((file, None) for file in files)
        return

    def attempt(file, tell):
        def notice():
            tell({"left": "a secret unread"})
            os._exit(0)

        watch_environment(secrets, directory, notice)
        try:
            file.load()
        except BaseException as error:
            tell({"failed": cause(error, file.path)})
        else:
            tell({"left": None})

    for file, problem in tried_by(attempt, files):
        if problem is None:
            yield file, None
        else:
            # Nobody knows what a file would ask for that has not come to its end in time.
            yield file, problem.text if problem.failed and not problem.hangs else LATE


def watch_environment(secrets, directory, notice):
    """Has `notice` called as soon as somebody looks for a secret. There is no way back from that."""
    data = os.environ._data
    if not isinstance(data, NoticingEnvironment):
        data = NoticingEnvironment(data, secrets, directory, notice)
    os.environ._data = os.environb._data = data


class NoticingEnvironment(dict):
    """What is behind `os.environ`."""

    def __init__(self, data, secrets, directory, notice):
        super().__init__(data)
        self._secrets, self._home, self._notice = set(map(os.fsencode, secrets)), directory, notice

    def __getitem__(self, key):
        if key in self._secrets:
            self._notice()
        return super().__getitem__(key)

    def __contains__(self, key):
        if key in self._secrets:
            self._notice()
        return super().__contains__(key)

    def __iter__(self):
        # Somebody looks at everything. A package does that for reasons of its own when it is
        # imported. A tool file, or what it calls, could find a secret.
        if os.path.dirname(_importing_file()) == self._home:
            self._notice()
        return super().__iter__()


def _importing_file():
    """The file of the innermost module that is being imported."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename


class LateTools:
    """The files that are still to be loaded, before the first script of a cell starts."""

    def __init__(self, files, finder, offer, workspace):
        self._files, self._finder, self._offer, self._workspace = files, finder, offer, workspace

    def load(self, script_globals):
        """Loads them. One that fails is tried again for the next step of a session."""
        with self._finder, self._as_in_the_zygote():
            while self._files:
                functions = self._loaded(self._files[0])
                base_globals.update(functions)
                script_globals.update(functions)
                del self._files[0]
        namespace.late_tools = None

    def _loaded(self, file):
        try:
            return self._offer.add(file)
        except (ScriptTimeout, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise ToolsNotLoaded(self._offer.complaint(file, error)) from error

    @contextlib.contextmanager
    def _as_in_the_zygote(self):
        """No module of the script's stands in for one that a tool wants. What is printed is no output."""
        has_place = self._workspace in sys.path
        if has_place:
            sys.path.remove(self._workspace)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        finally:
            if has_place:
                sys.path.insert(0, self._workspace)
