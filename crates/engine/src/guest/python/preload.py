"""Imports modules once for all cells: those a config names, or those its dependencies bring.

A module is tried first where it can fail without a trace; see `trial`. That takes as long as the
import itself. So when nothing was wrong, the list of modules is reported, and a host that gives it
back has them imported at once.
"""

import contextlib
import importlib
import os
import re
import sys

from . import output
from .loading import Limit
from .traces import cause
from .trial import threads_are_left, tried

#: What is imported with a package, because it makes something that every cell would make again.
#: `pyplot` makes a list of all fonts.
COMPANIONS = {"matplotlib": ("matplotlib.pyplot", "matplotlib.backends.backend_agg")}


@contextlib.contextmanager
def streams_aside():
    """While code of others is loaded, stdin is empty, and what it prints goes to stderr.

    The stdin and stdout of a zygote or a supervisor are its lines to the host.
    """
    kept = [os.dup(number) for number in (0, 1)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield
    finally:
        output.flush()
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)


def preload(settings, limit=None):
    """Imports ahead. Returns warnings, and the modules that need not be tried again, or None."""
    layout, modules = settings["layout"], settings["preload"]
    vouched, limit = settings.get("vouched"), limit or Limit()
    if vouched is not None:
        warnings = _import_all(vouched, limit)
        return warnings, None if warnings else vouched
    if modules is not None:
        # Whoever names a module wants to know what becomes of it.
        wanted = dict.fromkeys(modules, True)
    else:
        wanted = {}
        for dependency in settings["dependencies"]:
            for name, is_main in modules_of(dependency, layout["layer"]).items():
                wanted[name] = is_main or wanted.get(name, False)
    done, warnings = _import_what_works(list(wanted), layout["scratch"], limit, wanted, modules is not None)
    if modules is None:
        more = [name for package in COMPANIONS if package in sys.modules for name in COMPANIONS[package]]
        done += _import_what_works(more, layout["scratch"], limit)[0]
    return warnings, None if warnings else done


def _import_what_works(names, scratch, limit, matters=None, by_name=False):
    """Tries and imports. Warns of what `matters`. What leaves something is told if it was named."""
    done, warnings = [], []
    for name, problem in tried(names, scratch):
        if problem is None:
            warnings += _import_all([name], limit)
            done.append(name)
        elif matters and matters[name] and problem.failed:
            warnings.append(f"preloading {name} failed: {problem.text}")
        elif by_name:
            warnings.append(
                f"{name} is not preloaded: importing it leaves {problem.text}, which a cell would not have; "
                "scripts import it themselves"
            )
    return done, warnings


def _import_all(names, limit):
    warnings = []
    for name in names:
        try:
            with limit:
                importlib.import_module(name)
        except BaseException as error:
            warnings.append(f"preloading {name} failed: {cause(error)}")
        if threads_are_left():
            warnings.append(f"preloading {name} started a thread, which cells will not have")
    return warnings


def modules_of(dependency, layer):
    """The modules that a requirement such as `scikit-learn>=1.4` brings, and whether each matters.

    The one with the distribution's own name is what it is for. If none has it, all may be.
    """
    from importlib import metadata

    wanted = _normal(re.split(r"[^A-Za-z0-9._-]", dependency.strip(), maxsplit=1)[0])
    for distribution in metadata.distributions(path=[layer]):
        if _normal(distribution.metadata["Name"] or "") != wanted:
            continue
        listed = (distribution.read_text("top_level.txt") or "").split()
        if not listed:
            files = map(str, distribution.files or ())
            tops = {file.split("/", 1)[0] for file in files if file.endswith((".py", ".so"))}
            listed = [top.split(".", 1)[0] for top in sorted(tops - {"bin"})]
        names = [name for name in dict.fromkeys(listed) if name.isidentifier() and not name.startswith("_")]
        own = [name for name in names if _normal(name) == wanted]
        return {name: name in (own or names) for name in names}
    return {}


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()
