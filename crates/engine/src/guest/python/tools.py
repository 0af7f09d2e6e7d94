"""Loads tool files, and puts their functions into the globals that every script starts with.

tool_files   each file as a module
tool_loop    asynchronous functions as scripts call them
late_tools   files that need a secret, and are loaded in the cell
"""

import sys

from . import late_tools, namespace
from .loading import Limit
from .namespace import base_globals
from .tool_files import ToolFinder, tool_files
from .tool_loop import ToolLoop
from .traces import cause


def load_tools(directory, secrets=(), workspace=None, limit=None):
    """Loads every tool file. Returns the names of the tools, and a warning for each file that failed."""
    files = tool_files(directory)
    if not files:
        return [], []
    offer, late, warnings, finder = Offer(), [], {}, ToolFinder(files)
    limit = limit or Limit()
    with finder:
        for file, problem in late_tools.tried(files, directory, secrets):
            try:
                if problem is None:
                    with limit:
                        functions = offer.add(file)
                    base_globals.update(functions)
                elif problem is late_tools.LATE:
                    offer.claim(file, file.names())
                    late.append(file)
                else:
                    warnings[file] = offer.complaint(file, problem)
            except BaseException as error:
                warnings[file] = offer.complaint(file, error)
    # Last, and for processes that a script starts: `multiprocessing` hands the path on to them.
    sys.path.append(directory)
    if late:
        namespace.late_tools = late_tools.LateTools(late, finder, offer, workspace)
    return offer.names(), [warnings[file] for file in files if file in warnings]


class NameTaken(Exception):
    """A tool has a name that is somebody else's."""


class Offer:
    """The names that scripts find, and whose they are."""

    def __init__(self):
        self._given, self._owners, self._loop = set(base_globals), {}, ToolLoop()

    def names(self):
        return list(self._owners)

    def add(self, file):
        """Loads a file. Returns its functions, as scripts call them."""
        functions = file.load()
        self.claim(file, functions)
        return {
            name: self._loop.for_scripts(name, function) if file.is_async(name, function) else function
            for name, function in functions.items()
        }

    def claim(self, file, names):
        """Gives names to a file: all of them, or none if one is taken."""
        for name in names:
            if name in self._given:
                raise NameTaken(f"it defines {name}, which hides the {name} that every script starts with")
            owner = self._owners.get(name, file)
            if owner is not file:
                raise NameTaken(f"it defines {name}, and so does {owner.file}")
        self._owners.update(dict.fromkeys(names, file))

    def complaint(self, file, problem):
        """One sentence. The host knows it by how it begins."""
        if isinstance(problem, NameTaken):
            problem = str(problem)
        elif isinstance(problem, BaseException):
            problem = cause(problem, file.path)
        return f"tool file {file.file} did not load: {problem}"
