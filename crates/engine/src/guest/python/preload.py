"""Imports modules once for all cells: those a config names, or those its dependencies bring."""

import importlib
import re
import threading

from .traces import cause


def preload(modules, dependencies, layer):
    """Imports ahead. Without a list of modules, all of the dependencies' are. Returns warnings."""
    warnings = []
    wanted = modules
    if wanted is None:
        wanted = [name for dependency in dependencies for name in modules_of(dependency, layer)]
    for name in wanted:
        threads = threading.active_count()
        try:
            importlib.import_module(name)
        except BaseException as error:
            warnings.append(f"preloading {name} failed: {cause(error)}")
        if threading.active_count() > threads:
            warnings.append(f"preloading {name} started a thread, which cells will not have")
    return warnings


def modules_of(dependency, layer):
    """The modules that a requirement such as `scikit-learn>=1.4` brings."""
    from importlib import metadata

    wanted = _normal(re.split(r"[^A-Za-z0-9._-]", dependency.strip(), maxsplit=1)[0])
    for distribution in metadata.distributions(path=[layer]):
        if _normal(distribution.metadata["Name"] or "") != wanted:
            continue
        listed = (distribution.read_text("top_level.txt") or "").split()
        if not listed:
            files = map(str, distribution.files or ())
            tops = {file.split("/", 1)[0] for file in files if file.endswith((".py", ".so"))}
            listed = [top.split(".", 1)[0] for top in sorted(tops)]
        return [name for name in dict.fromkeys(listed) if name.isidentifier() and not name.startswith("_")]
    return []


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()
