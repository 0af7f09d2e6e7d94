"""Answers questions about a session between two steps: how a line can go on, which variables there are.

Nothing of the session runs for it, so nothing can hang, fail or change: no property, no `__getattr__`,
no `__dir__`, no `repr` of a class that somebody wrote. What cannot be known without that is not known.
The alarm of whoever asks is for what is merely large.
"""

import builtins
import json
import keyword
import os
import re
import sys
import types

from .namespace import base_globals
from .values import shorten

MOST = 1000

_IMPORT = re.compile(r"^\s*(?:import\s+(?:.*,\s*)?|from\s+)(\w*)$")
_FROM = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(?:.*,\s*)?(\w*)$")
_KEY = re.compile(r"(?:^|[^\w.])((?:[^\W\d]\w*\.)*[^\W\d]\w*)\[(['\"])([^'\"\\]*)$")
_NAME = re.compile(r"(?:^|[^\w.])((?:[^\W\d]\w*\.)*)(\w*)$")

_mro = type.__dict__["__mro__"].__get__
_members = type.__dict__["__dict__"].__get__
_name_of = type.__dict__["__name__"].__get__
_listdir = os.listdir
_NOTHING = object()
_SLOT = types.MemberDescriptorType
_HARMLESS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


def answer(module, about, line):
    """The answer as JSON. `null` if there is none."""
    names = {} if module is None else module.__dict__
    return json.dumps(_QUESTIONS[about](names, line)).encode("ascii")


def completions(names, line):
    """What can stand in place of the end of a line."""
    for pattern, find in _KINDS:
        match = pattern.search(line)
        if match:
            begun = match[match.lastindex]
            found = {name for name in find(names, match) if type(name) is str and name.startswith(begun)}
            if not begun.startswith("_"):
                found = {name for name in found if not name.startswith("_")}
            return {"replace": len(begun), "matches": sorted(found)[:MOST]}
    return None


def _modules(_names, _match):
    found = {name.partition(".")[0] for name in list(sys.modules)} | set(sys.builtin_module_names)
    found.update(getattr(sys, "stdlib_module_names", ()))
    for place in sys.path:
        try:
            there = _listdir(place or ".")
        except OSError:
            continue
        found.update(
            name.partition(".")[0] for name in there if name.endswith((".py", ".so")) or "." not in name
        )
    return filter(str.isidentifier, found)


def _imported(_names, match):
    return _attributes(sys.modules.get(match[1], _NOTHING))


def _keys(names, match):
    value = _resolve(names, match[1].split("."))
    if not issubclass(type(value), dict):
        return ()
    # A key with a quote or a backslash in it would have to be written in another way.
    is_plain = re.compile(r"[^'\"\\]+").fullmatch
    return [key for key in list(dict.keys(value)) if type(key) is str and key.isprintable() and is_plain(key)]


def _names(names, match):
    path = match[1].split(".")[:-1]
    if path:
        return _attributes(_resolve(names, path))
    return filter(str.isidentifier, [*names, *builtins.__dict__, *keyword.kwlist])


def _resolve(names, path):
    value = names.get(path[0], builtins.__dict__.get(path[0], _NOTHING))
    for name in path[1:]:
        value = _look(value, name)
    return value


def _look(value, name):
    """An attribute, if it can be had without running anything."""
    if value is _NOTHING:
        return _NOTHING
    is_class = issubclass(type(value), type)
    found = _in_classes(value if is_class else type(value), name)
    own = {} if is_class else _own(value)
    if name in own:
        # A class can still have the first word, and its word may be code.
        return _NOTHING if _has(found, "__set__") else own[name]
    if not _has(found, "__get__"):
        return found
    if type(found) is _SLOT and not is_class:
        return found.__get__(value)
    return found if type(found) in _HARMLESS else _NOTHING


def _has(value, name):
    return _in_classes(type(value), name) is not _NOTHING


def _in_classes(kind, name):
    for part in _mro(kind):
        members = _members(part)
        if name in members:
            return members[name]
    return _NOTHING


def _own(value):
    """What an object has besides what its class has."""
    held = _in_classes(type(value), "__dict__")
    if type(held) in (types.GetSetDescriptorType, _SLOT):
        held = held.__get__(value)
    return held if issubclass(type(held), dict) else {}


def _attributes(value):
    if value is _NOTHING:
        return ()
    is_class = issubclass(type(value), type)
    found = {name for part in _mro(value if is_class else type(value)) for name in list(_members(part))}
    if not is_class:
        found.update(name for name in list(dict.keys(_own(value))) if type(name) is str)
    return filter(str.isidentifier, found)


def variables(names, _line):
    """The variables that steps have made, with what can be said of them."""
    found = []
    for name, value in list(names.items()):
        if type(name) is str and name.isidentifier() and not name.startswith("_"):
            if base_globals.get(name, _NOTHING) is not value:
                found.append({"name": name, "kind": _name_of(type(value)), "summary": _summary(value)})
    return found[:MOST]


def _summary(value):
    kind = type(value)
    if kind is int and value.bit_length() > 200:
        return f"{value.bit_length()} bits"
    if kind in (bool, int, float, complex):
        return repr(value)
    if kind in (str, bytes):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}… ({len(value):,})"
    if kind in (list, tuple, dict, set, frozenset, bytearray):
        return f"{len(value):,} item{'' if len(value) == 1 else 's'}"
    if kind is types.FunctionType:
        code = value.__code__
        return shorten(f"({', '.join(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])})", 100)
    if issubclass(kind, type):
        return _name_of(value)
    return None


_KINDS = ((_IMPORT, _modules), (_FROM, _imported), (_KEY, _keys), (_NAME, _names))
_QUESTIONS = {"completions": completions, "variables": variables}
