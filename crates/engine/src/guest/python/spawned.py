"""What processes that `multiprocessing` starts anew find of a script that has no file.

    get_preparation_data ──► no path of `__main__` ──► a private file ──► the child runs it

By `spawn` and `forkserver` a child does not inherit the functions of the script. It runs the file
of `__main__` once more, under another name. Without a file it finds none of them, and a pool tries
for ever. So the script gets a file for its children, at the moment it needs one.

A script with `if __name__ == "__main__":` is made for that, and runs as it is. Of one without it,
and of the steps of a session, a child runs only what defines something: imports, functions,
classes and constants. Nothing else of it happens again.
"""

import ast
import linecache
import os
import sys
import types

from . import namespace

#: What makes a type or a value that others are named by, and does nothing else.
_MAKERS = frozenset(
    "namedtuple NamedTuple TypedDict NewType TypeVar ParamSpec Enum IntEnum StrEnum Flag IntFlag "
    "compile getLogger Path PurePath Decimal Fraction frozenset set dict list tuple range partial".split()
)
_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DOING = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)

# Its helpers are gone before the child looks for anything in it.
_FILE = """\
def _run(given, parts):
    import ast, importlib, linecache
    found = globals()
    del found["_run"]
    for name in given:
        found[name] = importlib.import_module(name)
    for name, source, flags, places in parts:
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        if places is None:
            exec(compile(source, name, "exec", flags, True), found)
            continue
        body = ast.parse(source, name).body
        for place in places:
            try:
                exec(compile(ast.Module([body[place]], []), name, "exec", flags, True), found)
            except Exception:
                pass  # It needs what only the script's own process has.


_run({given!r}, {parts!r})
"""

# What was written last, and where.
_written = None, None


def with_main(data):
    """What a child is told, with a file of `__main__` if it would have none."""
    if "init_main_from_name" not in data and "init_main_from_path" not in data:
        try:
            path = _file(_sources())
        except (OSError, SyntaxError, ValueError, RecursionError):
            path = None  # There is no room, or nothing to be had. The child runs without it.
        if path is not None:
            data["init_main_from_path"] = path
    return data


def _sources():
    """The script's name and source, or those of each step of a session."""
    main = sys.modules["__main__"].__dict__
    if main.get("emit_result") is not namespace.base_globals["emit_result"]:
        return []
    return [
        (name, "".join(entry[2]))
        for name, entry in list(linecache.cache.items())
        if name.startswith("<agent_script") and len(entry) == 4
    ]


def _file(sources):
    global _written
    if sources and _written[0] != sources:
        import tempfile

        parts = [part for part in map(_part, sources) if part is not None]
        given = [
            name
            for name, value in namespace.base_globals.items()
            if isinstance(value, types.ModuleType) and value.__name__ == name
        ]
        descriptor, path = tempfile.mkstemp(prefix="agent_script_", suffix=".py")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_FILE.format(given=given, parts=parts))
        _written = sources, path
    return _written[1] if sources else None


def _part(named):
    """What a child runs of a source: its places in the body, or all of it. None if it is no Python."""
    name, source = named
    try:
        tree = ast.parse(source, name)
    except SyntaxError:
        return None  # A step that failed.
    flags = _flags(tree)
    if not namespace.is_session and any(map(_is_guard, tree.body)) and _compiles(source, name, flags):
        return name, source, flags, None
    return name, source, flags, [place for place, node in enumerate(tree.body) if _defines(node)]


def _flags(tree):
    """What `from __future__ import …` asks for. Statements that are compiled by themselves need it, too."""
    import __future__

    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
    return flags


def _is_guard(node):
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _compiles(source, name, flags):
    try:
        compile(source, name, "exec", flags, True)
    except SyntaxError:
        return False  # It awaits outside of any function.
    return True


def _defines(node):
    """Whether a statement only says what something is."""
    if isinstance(node, _DEFINITIONS):
        return True
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(map(_is_name, targets)) and (node.value is None or _is_still(node.value))
    if isinstance(node, ast.If):
        return not _is_guard(node) and _is_still(node.test) and all(map(_defines, node.body + node.orelse))
    if isinstance(node, ast.Try):
        handled = [each for handler in node.handlers for each in handler.body]
        return all(map(_defines, node.body + handled + node.orelse + node.finalbody))
    return isinstance(node, ast.Pass)


def _is_name(target):
    return isinstance(target, ast.Name) or (
        isinstance(target, (ast.Tuple, ast.List)) and all(map(_is_name, target.elts))
    )


def _is_still(value):
    """Whether an expression has a value and does nothing. What a function in it does is another matter."""
    if isinstance(value, ast.Lambda):
        return True
    if isinstance(value, _DOING):
        return False
    if isinstance(value, ast.Call):
        called = value.func
        if getattr(called, "id", None) not in _MAKERS and getattr(called, "attr", None) not in _MAKERS:
            return False
    return all(map(_is_still, ast.iter_child_nodes(value)))
