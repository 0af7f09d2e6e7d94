"""Tool files as modules: each has globals of its own, and can be imported by its name.

    /tools/weather.py ─► module `weather` ─► its public functions, for scripts
    /tools/json.py    ─► module `belljar_tool_json`, because `json` is somebody else's

A tool file finds the helpers of scripts in its globals, `ToolResponse` for one, without importing them.
Tool files can import each other. A file that fails is not in `sys.modules` afterwards.
"""

import ast
import importlib.machinery
import importlib.util
import inspect
import io
import os
import sys
import types

from .namespace import base_globals
from .signatures import public_functions


class ToolFile:
    """One file: its code, and the functions it defines."""

    def __init__(self, directory, file):
        self.file, self.path = file, os.path.join(directory, file)
        self.module_name = _free_name(file[: -len(".py")])
        self._code = self._definitions = None

    def _read(self):
        if self._code is None:
            with io.open_code(self.path) as source:
                tree = ast.parse(source.read(), self.path)
            # By name, whether it is asynchronous.
            self._definitions = {
                name: isinstance(node, ast.AsyncFunctionDef) for name, node in public_functions(tree).items()
            }
            self._code = compile(tree, self.path, "exec", dont_inherit=True)

    def code(self):
        self._read()
        return self._code

    def names(self):
        """The functions that it will have, as far as its text tells. Nothing of it runs."""
        self._read()
        return list(self._definitions)

    def is_async(self, name, function):
        """Whether calling a function may give something to wait for."""
        if inspect.isasyncgenfunction(function):
            return False
        # A decorator may hide that it does.
        return self._definitions.get(name, False) or inspect.iscoroutinefunction(function)

    def load(self):
        """Runs the file, unless it is loaded. Returns its public functions by name."""
        # Not `importlib.import_module`, whose frames would be in every traceback.
        __import__(self.module_name)
        return dict(self._functions(sys.modules[self.module_name]))

    def _functions(self, module):
        self._read()
        for name, value in vars(module).items():
            if name.startswith("_") or not callable(value) or inspect.isclass(value):
                continue
            is_made_here = inspect.isfunction(value) and value.__code__.co_filename == self.path
            # What a decorator makes of a function need not be one, nor be made here.
            if is_made_here or (name in self._definitions and base_globals.get(name) is not value):
                yield name, value


def tool_files(directory):
    """The files of a directory, in the order of their names."""
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".py"))
    except FileNotFoundError:
        return []
    return [ToolFile(directory, name) for name in names]


class ToolFinder:
    """Has `import` find tool files by the names of their modules, while they are loaded.

    Afterwards all of them are in `sys.modules`, and imports of scripts need not pass by here.
    """

    def __init__(self, files):
        self._files = {file.module_name: file for file in files}
        # Before any tool is in it.
        self._given = dict(base_globals)

    def __enter__(self):
        # First. That hides nothing, because it answers only to names that nobody else has.
        sys.meta_path.insert(0, self)

    def __exit__(self, *_):
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(self, name, path=None, target=None):
        file = self._files.get(name)
        if file is None:
            return None
        loader = ToolLoader(file, self._given)
        return importlib.util.spec_from_file_location(name, file.path, loader=loader)


class ToolLoader(importlib.machinery.SourceFileLoader):
    """Runs a file that is compiled already, with the helpers of scripts in its globals."""

    def __init__(self, file, given):
        super().__init__(file.module_name, file.path)
        self._file, self._given = file, given

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__dict__.update(self._given)
        return module

    def get_code(self, _name):
        return self._file.code()


def _free_name(stem):
    """A module's name that hides nothing: no module of Python's, none of a package."""
    if stem.isidentifier() and not _is_taken(stem):
        return stem
    name = "belljar_tool_" + stem.replace(".", "_")
    while _is_taken(name):
        name += "_"
    return name


def _is_taken(name):
    return name in sys.modules or importlib.util.find_spec(name) is not None
