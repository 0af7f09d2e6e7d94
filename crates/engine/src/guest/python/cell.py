"""The zygote and its cells, from the first line to the last request."""

import importlib.machinery
import importlib.util
import json
import os
import signal
import socket

from . import forks
from .alarm import Alarm
from .channel import Channel
from .interrupts import Interrupts
from .scripts import Scripts
from .template import PROTOCOL, prepare, report, warm_up
from .values import text

# The host puts it beside this package.
SETTINGS_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "template.json")
# What the host hands to a zygote, by descriptor: its control socket, the library that makes cells,
# the plan they are made by, and the program of their PID 1.
CONTROL, LIBRARY, PLAN, INIT = 0, 3, 4, 5

READY = b'{"type":"ready","protocol":%d}' % PROTOCOL


def zygote():
    """Prepares once, then clones a cell for every request of the host."""
    control = socket.socket(fileno=CONTROL)
    cells = _load_cell_library(LIBRARY)
    cells.configure(_read_all(PLAN), INIT)
    settings = _settings()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    template, main, spare = prepare(settings)
    workspace = settings["layout"]["workspace"]
    template.note_lost_files(workspace)
    control.send(json.dumps({"type": "zygote_ready", **report(template)}).encode())
    control.detach()
    forks.prepare_for_clone()
    # Returns in cells only.
    channel, hurry = cells.serve(CONTROL)
    cell(enter(channel, workspace), main, None if hurry else spare)


def single(descriptor):
    """One cell without a zygote: prepares, and serves the host on a descriptor that is open already."""
    settings = _settings()
    layout = settings["layout"]
    _move(descriptor, layout["channel"])
    template, main, spare = prepare(settings)
    forks.prepare_for_clone()
    channel = enter(layout["channel"], layout["workspace"])
    warm_up(spare)
    serve(channel, main, json.dumps({"type": "ready", **report(template)}).encode())


def cell(channel, main, spare):
    """Serves the host until it hangs up. By now the process is confined."""
    if spare is not None:
        warm_up(spare)
    serve(channel, main, READY)


def enter(descriptor, workspace):
    """What a process does first that is to run a script."""
    forks.repair_after_clone()
    os.chdir(workspace)
    return Channel(descriptor)


def serve(channel, main, greeting=None):
    """Does what the host asks for until it hangs up."""
    scripts = Scripts(Interrupts(channel), main)
    if greeting is not None:
        # Only now: a Ctrl-C for the first request may come before the request does.
        channel.send(greeting)
    while True:
        request = channel.receive()
        if request is None:
            os._exit(0)
        kind = request.get("type")
        if kind == "execute":
            scripts.execute(channel, request)
        elif kind == "program":
            # Most cells run scripts, so it is loaded when it is needed.
            from . import commands

            commands.become(channel, request)
        elif kind == "ask":
            _answer(channel, request, scripts.module)


def _answer(channel, request, module):
    """Answers a question about a session. Nothing found, or not in time, is an answer too."""
    found = b"null"
    try:
        with Alarm(request["timeout"]):
            # Most cells are asked nothing, so it is loaded when the first question comes.
            from . import inquiry

            found = inquiry.answer(module, request["about"], request.get("text"))
    except BaseException:
        pass  # The session may have broken what this needs. It goes on all the same.
    channel.send(b'{"type":"answer","seal":%s,"data":%s}' % (text(request["seal"]), found))


def _move(descriptor, place):
    """Gives the channel its usual number. Nothing is left at the old one: programs expect it to be theirs."""
    if descriptor == place:
        os.set_inheritable(place, False)
        return
    os.dup2(descriptor, place, inheritable=False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def _settings():
    with open(SETTINGS_FILE, encoding="utf-8") as file:
        return json.load(file)


def _load_cell_library(descriptor):
    path = f"/proc/self/fd/{descriptor}"
    loader = importlib.machinery.ExtensionFileLoader("belljar_cell", path)
    spec = importlib.util.spec_from_file_location("belljar_cell", path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    os.close(descriptor)
    return module


def _read_all(descriptor):
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return file.read()
