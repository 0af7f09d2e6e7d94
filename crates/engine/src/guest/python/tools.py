"""Loads tool files into the globals that every script starts with."""

import asyncio
import inspect
import io
import os
import threading

from .namespace import base_globals
from .strays import tool_threads
from .traces import cause


def tool_files(directory):
    try:
        return sorted(name for name in os.listdir(directory) if name.endswith(".py"))
    except FileNotFoundError:
        return []


def load_tools(directory):
    """Runs every tool file. Returns the names of the tools, and a warning for each file that failed."""
    warnings, before = [], dict(base_globals)
    for name in tool_files(directory):
        path = os.path.join(directory, name)
        try:
            with io.open_code(path) as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
            base_globals["__name__"], base_globals["__file__"] = name[:-3], path
            exec(code, base_globals)
        except BaseException as error:
            warnings.append(f"tool file {name} did not load: {cause(error, path)}")
    for gone in ("__name__", "__file__"):
        base_globals.pop(gone, None)
    return _take_functions(directory, before), warnings


def _take_functions(directory, before):
    """The functions that tool files defined. Coroutines become plain functions: scripts are synchronous."""
    tools, loop = [], ToolLoop()
    for name, value in list(base_globals.items()):
        is_new = before.get(name) is not value and inspect.isfunction(value)
        if is_new and value.__code__.co_filename.startswith(directory):
            tools.append(name)
            if inspect.iscoroutinefunction(value):
                base_globals[name] = loop.as_sync(value)
    return tools


class ToolLoop:
    """The event loop that asynchronous tools run on."""

    def __init__(self):
        self._loop = None

    def as_sync(self, function):
        def call(*arguments, **named):
            return asyncio.run_coroutine_threadsafe(function(*arguments, **named), self._running()).result()

        call.__name__, call.__qualname__ = function.__name__, function.__qualname__
        call.__doc__, call.__module__, call.__wrapped__ = function.__doc__, function.__module__, function
        return call

    def _running(self):
        # Started on first use, in the cell: a zygote with a second thread could not be cloned
        # safely.
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            thread = threading.Thread(target=self._loop.run_forever, name="tool-loop", daemon=True)
            thread.start()
            # It works for every step, whichever came first.
            tool_threads.add(thread.native_id)
        return self._loop
