"""Keys of a `dict` as JSON writes them: as text. Two that are written alike would be one."""

import math

from .conversions import Unfit, convert
from .tables import Clash

_CONSTANTS = {None: "null", True: "true", False: "false"}
_LEAVES = frozenset((str, int, float, bool, type(None)))


def convert_key(key):
    """A key as JSON can hold it; Ellipsis for a key without an obvious spelling."""
    if key is None or isinstance(key, (str, int, float)):
        return key
    try:
        known = convert(key)
    except Unfit:
        return Ellipsis
    return known if known is None or isinstance(known, (str, int, float)) else Ellipsis


def spelled(key):
    """A key as the encoder writes it."""
    if isinstance(key, str):
        return key
    if key is None or key is True or key is False:
        return _CONSTANTS[key]
    return float.__repr__(key) if isinstance(key, float) else int.__repr__(key)


def has_clash(value, most):
    """Whether two keys of one `dict` are one key in JSON, at any depth. The value can be encoded."""
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if not all(type(key) is str for key in part):
                written = {spelled(convert_key(key)) for key in part}
                if len(written) < len(part):
                    return True
            part = part.values()
        elif isinstance(part, (str, int, float)):
            continue
        elif not isinstance(part, (list, tuple)):
            part = (convert(part, most),)
        parts += [item for item in part if type(item) not in _LEAVES]
    return False


def with_plain_keys(value, most, depth=0):
    """A copy in which everything is what JSON can hold, keys too."""
    if depth > 200:
        raise RecursionError
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [with_plain_keys(item, most, depth + 1) for item in value]
    if not isinstance(value, dict):
        return with_plain_keys(convert(value, most), most, depth + 1)
    plain = {}
    for key, item in value.items():
        known = convert_key(key)
        if known is Ellipsis:
            raise Unfit("a key that JSON cannot hold")
        # As text: an `Enum` may be worth 1, and Python takes 1 and True for the same key.
        written = known if isinstance(known, float) and not math.isfinite(known) else spelled(known)
        if written in plain:
            raise Clash("has two keys that are one in JSON")
        plain[written] = with_plain_keys(item, most, depth + 1)
    return plain
