"""Type hints and defaults of a function, as far as JSON has words for them.

Everything is told from the syntax tree, and nothing is evaluated. A hint becomes a kind, in the notation
that the host reads: `str`, `int`, `float`, `bool`, `bytes`, `list[…]`, `dict[str, …]`, `any`. What has
no such kind is `any`: a class, a type variable, a union of two kinds.

    hint(node)      {"kind", "nullable", "options", "note"}
    default(node)   (True, value), or (False, None) if it is no plain value
"""

import ast
import math

#: How deep hints are followed. The host takes no deeper kinds.
DEEPEST = 8

_PLAIN = {
    "str": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "bytes": "bytes",
    "complex": "any",
    "list": "list",
    "tuple": "list",
    "set": "list",
    "frozenset": "list",
    "dict": "dict",
    "List": "list",
    "Tuple": "list",
    "Set": "list",
    "FrozenSet": "list",
    "Sequence": "list",
    "MutableSequence": "list",
    "Iterable": "list",
    "Collection": "list",
    "Dict": "dict",
    "Mapping": "dict",
    "MutableMapping": "dict",
}
_NOTHING = object()


def hint(node):
    """What a parameter with this annotation takes."""
    found = {"kind": "any", "nullable": False, "options": [], "note": None}
    for _ in range(DEEPEST):
        node = _unquoted(node)
        base, items = _subscript(node)
        if base == "Annotated" and items:
            node = items[0]
            notes = [item.value for item in items[1:] if _is_text(item)]
            found["note"] = found["note"] or (notes[0] if notes else None)
        elif base == "Optional" and len(items) == 1:
            found["nullable"], node = True, items[0]
        elif base in ("Required", "NotRequired", "Final", "ClassVar", "ReadOnly") and len(items) == 1:
            node = items[0]
        else:
            several = _alternatives(node)
            others = [each for each in several if not _is_none(each)]
            if len(others) == len(several) or len(others) != 1:
                break
            found["nullable"], node = True, others[0]
    found["nullable"] |= any(_is_none(each) for each in _alternatives(node))
    base, items = _subscript(node)
    if base == "Literal" and items:
        _literal(items, found)
    else:
        found["kind"] = _kind(node, DEEPEST)
    return found


def default(node):
    """The value of a default, if JSON has it."""
    try:
        value = _plain(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None
    return (False, None) if value is _NOTHING else (True, value)


def _kind(node, levels):
    node = _unquoted(node)
    if levels == 0:
        return "any"
    base, items = _subscript(node)
    plain = _PLAIN.get(base, "any")
    if base in ("Annotated", "Required", "Final") and items:
        return _kind(items[0], levels - 1)
    if plain == "list" and items:
        # A tuple of several kinds, and one that ends in `...`, has more than one item.
        same = [item for item in items if not (isinstance(item, ast.Constant) and item.value is ...)]
        return f"list[{_kind(same[0], levels - 1)}]" if len(same) == 1 else "list"
    if plain == "dict" and len(items) == 2:
        is_named = _subscript(_unquoted(items[0]))[0] == "str"
        return f"dict[str, {_kind(items[1], levels - 1)}]" if is_named else "dict"
    return plain


def _subscript(node):
    """The name and the parts of `Name[part, …]`, whatever module the name is in."""
    items = []
    if isinstance(node, ast.Subscript):
        inside = node.slice
        # Python 3.8 wrapped it.
        inside = getattr(inside, "value", inside) if type(inside).__name__ == "Index" else inside
        items = list(inside.elts) if isinstance(inside, ast.Tuple) else [inside]
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr, items
    return (node.id, items) if isinstance(node, ast.Name) else (None, items)


def _alternatives(node):
    """The parts of `A | B` and of `Union[A, B]`."""
    base, items = _subscript(node)
    if base == "Union":
        return [_unquoted(item) for item in items]
    found = []
    # No recursion: a chain is as long as somebody likes.
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        found.append(_unquoted(node.right))
        node = node.left
    return [_unquoted(node), *reversed(found)]


def _literal(items, found):
    values = [default(item) for item in items]
    if not all(is_plain for is_plain, _ in values):
        return
    options = []
    for _, value in values:
        if value is None:
            found["nullable"] = True
        elif not any(type(value) is type(other) and value == other for other in options):
            options.append(value)
    kinds = {type(option) for option in options}
    if len(kinds) == 1:
        found["kind"] = _PLAIN.get(kinds.pop().__name__, "any")
    found["options"] = options


def _unquoted(node):
    """What a hint in quotes says."""
    if not _is_text(node):
        return node
    try:
        return ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return node


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _plain(value, levels=16):
    """A value as JSON has it, or `_NOTHING`."""
    if levels == 0:
        return _NOTHING
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if value.isascii() or _is_whole(value) else _NOTHING
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else _NOTHING
    if isinstance(value, float):
        return value if math.isfinite(value) else _NOTHING
    if isinstance(value, (list, tuple)):
        items = [_plain(item, levels - 1) for item in value]
        return _NOTHING if any(item is _NOTHING for item in items) else items
    if isinstance(value, dict) and all(isinstance(key, str) and _is_whole(key) for key in value):
        items = {key: _plain(item, levels - 1) for key, item in value.items()}
        return _NOTHING if any(item is _NOTHING for item in items.values()) else items
    return _NOTHING


def _is_whole(text):
    """Whether it is Unicode throughout. A literal can be half of a character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
