"""The program inside every cell: it runs a script and tells the host what happens.

Life of a cell on the native engine:

    zygote: load tools and preloads, freeze ─► for each request of the host: clone a cell
    cell:   touch the pages a run needs ─► "ready"
            ─► "execute" ─► log* intermediate* (final_result | error)? ─► "script_done"
            ─► "ask" ─► "answer", between two steps of a session

The zygote never runs a script. A cell runs one script, or the steps of one session. The host
destroys it afterwards. Host and cell speak JSON, one object a line, on a private channel. What
the script prints goes to descriptors 1 and 2. They are pipes to the host and carry no meaning.
Every frame carries the seal that the host sent with the request. The host ignores other frames.

Nothing here protects the host. The script shares this interpreter and may do to it what it likes.
The process was confined before this code sees a request.

A cell copies every page of the zygote that it writes to, and CPython writes to every object it
looks at. So the cost of a run is the number of objects it touches, not the time it computes.
Hence the C functions below `json` and `signal` instead of the Python ones around them, and
objects made ahead of need.

    cell        zygote and cell: from the first line to the last request
    template    what all cells share, made once        forks            what is done after a clone
    tools, preload, trial                              what is loaded for it, if there is anything
    tool_files, tool_loop, late_tools                  what tools are made of
    loading     how long loading may take
    library     the standard library, loaded first
    scripts     runs scripts                           namespace        what a script finds
    execution   one script on its way: its frames      alarm            its time limit
    interrupts  Ctrl-C from the host
    channel     lines to and from the host             output           stdout and stderr, counted
    values      Python values as JSON                  traces           errors as text
    conversions what JSON has no word for              displays         what a script shows
    tables      those of pandas and pyarrow            keys             what becomes of keys
    rich        the forms an object has                figures          matplotlib's
    watch       packages that show things through us, or start processes
    spawned     the file of a script without one, for processes that it starts anew
    hosted, calls                                      tools of the host's, if there are any
    strays      threads and processes that outlive a step
    inquiry     answers about a session, between two steps; loaded when it is asked for
    signatures  what functions of tool files look like, told from their source alone
    hints, docstrings                                  what a model should know of them

The host puts this package beside `template.json` and imports it by the name `belljar_harness`.
Standard library only; CPython 3.9 and later.
"""

# isort: off
# First: it keeps back the fork hooks of every module that is imported after it.
from . import forks

# Second: nothing of the standard library is loaded between our own modules.
from . import library

# Then what few runs need, and nothing of it is touched in the others.
from . import tables, conversions, keys, figures, rich, displays, watch

# Then what every run needs, in a row; see `library`.
from . import values, traces, strays, alarm, channel, interrupts, output, execution
from . import namespace, scripts, template, cell

# isort: on
from .cell import READY, enter, serve, single, zygote
from .forks import prepare_for_clone
from .template import prepare, report, warm_up

__all__ = [
    "READY",
    "alarm",
    "cell",
    "channel",
    "conversions",
    "displays",
    "enter",
    "execution",
    "figures",
    "forks",
    "interrupts",
    "keys",
    "library",
    "namespace",
    "output",
    "prepare",
    "prepare_for_clone",
    "report",
    "rich",
    "scripts",
    "serve",
    "single",
    "strays",
    "tables",
    "template",
    "traces",
    "values",
    "warm_up",
    "watch",
    "zygote",
]
