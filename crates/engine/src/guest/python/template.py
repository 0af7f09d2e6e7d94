"""What every cell of a zygote shares, made once: tools, modules imported ahead, warm code."""

import gc
import json
import linecache
import os
import subprocess
import sys

from . import execution, forks, output, watch
from .channel import Channel
from .interrupts import Interrupts
from .namespace import new_main
from .scripts import SCRIPT_NAME, Scripts
from .traces import one_line
from .values import rules

PROTOCOL = 1

#: What a report may hold. It is one message to the host, and the kernel bounds the length of a
#: message.
MOST_WARNINGS, MOST_TOOL_BYTES = 50, 50_000

# Enough for the interpreter to adapt its code to what runs in it. Otherwise every cell would do it
# anew.
WARM_UPS = 20

_warm_up_request = {
    "type": "execute",
    "execution_id": "warm-up",
    "seal": "warm-up",
    "script": "x = {'warm': [1, 2.5, 'x', None]}\nemit_log('x')\nemit_intermediate('x', x)\nemit_result(x)\n",
    "mode": "plan",
    "timeout": 60.0,
    "max_output_bytes": 1 << 20,
    "required_secrets": [],
    "secrets": {},
}
WARM_UP = json.dumps(_warm_up_request).encode() + b"\n"


class Template:
    """The names of the tools, and what went wrong while tools and modules were loaded."""

    def __init__(self):
        self.tools = []
        self.warnings = []
        # Modules that can be preloaded without a trial next time, if a host asks for it.
        self.vouched = None

    def load(self, settings):
        layout = settings["layout"]
        names, dependencies = settings["preload"], settings["dependencies"]
        if settings["host_tools"]:
            from . import hosted

            self.tools = hosted.install(settings["host_tools"])
        if not (_has_files(layout["tools"]) or names or dependencies):
            return
        # Most templates have nothing to load, and start sooner without what loads it.
        from .loading import Limit
        from .preload import preload, streams_aside
        from .tools import load_tools

        with forks.Generators() as generators, streams_aside():
            limit = Limit()
            tools, self.warnings = load_tools(
                layout["tools"], settings["secrets"], layout["workspace"], limit
            )
            self.tools += tools
            warnings, self.vouched = preload(settings, limit)
            self.warnings += warnings
        forks.repair_with(generators.seed_anew)

    def note_lost_files(self, workspace):
        """Warns of files that tools or packages wrote for scripts, where scripts have another workspace."""
        names = sorted(name for name in os.listdir(workspace) if not name.startswith("."))
        if names:
            shown = one_line(", ".join(names[:5]))
            self.warnings.append(
                f"written while tools and packages were loaded, and not in any cell: {shown}"
            )


def _has_files(directory):
    try:
        return bool(os.listdir(directory))
    except FileNotFoundError:
        return False


def prepare(settings):
    """Makes everything that all cells share. Returns the template, and two modules for scripts made ahead."""
    import site

    layout = settings["layout"]
    # This interpreter ignores the environment, so that nothing in it changes the harness. Those
    # that a script starts by `multiprocessing` or `joblib` are to find the script's packages.
    subprocess._args_from_interpreter_flags = list
    site.setquit()
    site.sethelper()
    if os.path.isdir(layout["layer"]):
        site.addsitedir(layout["layer"])
    sys.stdout = sys.__stdout__ = output.stdout
    sys.stderr = sys.__stderr__ = output.stderr
    rules.adopt(settings["rules"])
    watch.begin()
    template = Template()
    template.load(settings)
    if settings["programs"]:
        # Compiled once, and not by each cell that becomes a program.
        from . import commands, terminals  # noqa: F401

        commands.rehearse()
    # As for any script: a module that it writes next to itself can be imported. This comes last,
    # so that nothing above is looked for there.
    sys.path.insert(0, layout["workspace"])
    for _ in range(WARM_UPS):
        warm_up(new_main())
    spare, main = new_main(), new_main()
    gc.collect()
    gc.freeze()
    return template, main, spare


def warm_up(module):
    """Runs a small script end to end. That takes the page faults of a first run before anybody waits."""
    main = sys.modules["__main__"]
    nowhere = os.open("/dev/null", os.O_WRONLY)
    channel = Channel(nowhere, WARM_UP)
    scripts = Scripts(Interrupts(channel), module, with_late_tools=False)
    scripts.execute(channel, channel.receive())
    os.close(nowhere)
    linecache.cache.pop(SCRIPT_NAME, None)
    sys.modules["__main__"] = main
    execution.running = None


def report(template):
    """What the host is told once everything is prepared: bounded, whatever tools and packages say."""
    tools, room = [], MOST_TOOL_BYTES
    for name in map(one_line, template.tools):
        room -= len(json.dumps(name)) + 2
        if room < 0:
            break
        tools.append(name)
    warnings = template.warnings[:MOST_WARNINGS]
    untold = len(template.warnings) - len(warnings)
    if untold:
        warnings.append(f"{untold} more warnings are not listed")
    if len(tools) < len(template.tools):
        untold = len(template.tools) - len(tools)
        warnings.append(f"{untold} tools can be called but are not listed: there are too many")
    return {
        "protocol": PROTOCOL,
        "python": ".".join(map(str, sys.version_info[:3])),
        "tools": tools,
        "warnings": warnings,
        "vouched": template.vouched,
    }
