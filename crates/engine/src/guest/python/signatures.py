"""What the functions of tool files look like, told from their source text alone.

Nothing of a file runs: `ast` reads it. So this can be asked about a file that nobody trusts, that needs
a package which is not there, or that waits for a secret. Every answer is JSON:

    {"name", "file", "line", "is_async", "doc", "description", "parameters", "returns"}   a function
    {"file", "line", "error"}                                              a file that cannot be read

A parameter is `{"name", "kind", "annotation", "default", "required", "takes", "value", "description"}`.
Annotations and defaults are source text, because their values exist only where the file runs. `takes`
and `value` are what JSON can say of them: see `hints`. `description` is what the docstring says besides
the parameters, and what it says about each: see `docstrings`.

`tools` asks here for the names of functions that it cannot load yet.
"""

import ast
import sys

from .traces import one_line

#: How long a file may be, in bytes. The parser takes a hundred times that in memory. Before Python
#: 3.11 it does not notice that a chain like `a.b.b.b…` is too long for the stack.
LONGEST_SOURCE = 1 << 20 if sys.version_info >= (3, 11) else 128 << 10


def signatures(files):
    """The public functions of files, given as pairs of a name and a source text, in their order."""
    global docstrings, hints
    # When they are asked for: every zygote has this module, and few need those.
    from . import docstrings, hints

    found = []
    for file, source in files:
        try:
            found += _signatures_of(file, source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            found.append({"file": file, "line": getattr(error, "lineno", None), "error": _why(error)})
    return found


def public_functions(tree):
    """The last `def` of each public name that running a module could bind, by name, in order.

    A function in an `if`, a `try`, a `with` or a loop of the module counts. One in a class or in another
    function does not, and neither does one below `if __name__ == "__main__"`.
    """
    found, left = {}, list(reversed(tree.body))
    # No recursion: a chain of `elif` is as deep as somebody likes.
    while left:
        node = left.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not node.name.startswith("_"):
                found.pop(node.name, None)
                found[node.name] = node
        elif not isinstance(node, ast.ClassDef):
            blocks = [getattr(node, name, ()) for name in ("body", "handlers", "orelse", "finalbody")]
            blocks += [case.body for case in getattr(node, "cases", ())]
            if isinstance(node, ast.If) and _asks_for_main(node.test):
                blocks[0] = ()
            left.extend(inner for block in reversed(blocks) for inner in reversed(block))
    return found


def _why(error):
    if isinstance(error, (RecursionError, MemoryError)):
        return "it is nested too deeply"
    return one_line(f"{type(error).__name__}: {getattr(error, 'msg', error)}")


def _asks_for_main(test):
    return isinstance(test, ast.Compare) and any(
        isinstance(side, ast.Name) and side.id == "__name__" for side in (test.left, *test.comparators)
    )


def _signatures_of(file, source):
    # A mark that some editors begin a file with.
    source = source.removeprefix("\ufeff")
    data = source.encode("utf-8")
    if len(data) > LONGEST_SOURCE:
        raise ValueError(f"it is longer than {LONGEST_SOURCE:,} bytes")
    text = _Text(data)
    return [_signature(name, node, file, text) for name, node in public_functions(ast.parse(source)).items()]


def _signature(name, node, file, text):
    doc, parameters = _whole(ast.get_docstring(node)), _parameters(node.args, text)
    description, said = docstrings.read(doc, {each["name"] for each in parameters})
    for each in parameters:
        note = each["takes"].pop("note")
        each["description"] = said.get(each["name"]) or _whole(note) or ""
    return {
        "name": name,
        "file": file,
        "line": node.lineno,
        "is_async": isinstance(node, ast.AsyncFunctionDef),
        "doc": doc,
        "description": description,
        "parameters": parameters,
        "returns": text.of(node.returns),
    }


def _parameters(arguments, text):
    by_position = [(each, "positional_only") for each in arguments.posonlyargs]
    by_position += [(each, "positional_or_keyword") for each in arguments.args]
    # The last ones have the defaults.
    defaults = [None] * (len(by_position) - len(arguments.defaults)) + arguments.defaults
    listed = [(*each, default) for each, default in zip(by_position, defaults)]
    if arguments.vararg:
        listed.append((arguments.vararg, "var_positional", None))
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults)
    listed += [(each, "keyword_only", default) for each, default in by_name]
    if arguments.kwarg:
        listed.append((arguments.kwarg, "var_keyword", None))
    return [
        {
            "name": each.arg,
            "kind": kind,
            "annotation": text.of(each.annotation),
            "default": text.of(default),
            "required": default is None and not kind.startswith("var_"),
            "takes": hints.hint(each.annotation),
            "value": _value(default),
        }
        for each, kind, default in listed
    ]


def _value(default):
    """The value of a default in a list, or an empty list: `None` is a value."""
    is_plain, value = (False, None) if default is None else hints.default(default)
    return [value] if is_plain else []


class _Text:
    """The source text of expressions. `ast.get_source_segment` would split the whole file for each."""

    def __init__(self, data):
        # As the parser counts: columns in bytes, and only these ends of lines.
        self._lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")

    def of(self, node):
        if node is None:
            return None
        if node.lineno != node.end_lineno:
            # Comments and breaks between the lines are not part of it.
            return _whole(ast.unparse(node))
        return self._lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode("utf-8", "replace")


def _whole(text):
    """Text that is Unicode throughout. A literal in a source can be half of a character."""
    return text and text.encode("utf-8", "replace").decode("utf-8")
