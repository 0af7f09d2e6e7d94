"""Python values as JSON that every reader can read, or an error that names the part that cannot be."""

import json
import math

from . import conversions, keys, tables

_quote = json.encoder.encode_basestring


def _make_encoder(default=None):
    slow = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default)
    if json.encoder.c_make_encoder is None:
        return slow.iterencode
    fast = json.encoder.c_make_encoder({}, slow.default, _quote, None, ":", ",", False, False, False)
    return lambda value: fast(value, 0)


_pieces = _make_encoder()


def encode(value):
    """Compact JSON text."""
    global _pieces
    try:
        return "".join(_pieces(value))
    except BaseException:
        # It remembers where it was, and would see a cycle there next time.
        _pieces = _make_encoder()
        raise


_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_BRACKETS_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class Rules:
    """What the host forwards. It repairs the rest; here the script still learns why.

    The figures are the host's. They come with the template's settings.
    """

    deepest = longest_integer = most_displays = 0
    seconds_after_result = 0.0

    def adopt(self, figures):
        self.__dict__.update(figures)

    def why_not(self, payload):
        """What some readers could not read of a value's JSON; None for nearly all."""
        if not self._is_deep(payload) and not self._is_long(payload):
            return None
        # Perhaps in its strings only. Without escaped quotes each quote begins or ends one.
        outside = b" ".join(payload.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
        if self._is_deep(outside):
            return self.too_deep()
        if self._is_long(outside):
            return f"holds {self.too_long()}"
        return None

    def too_deep(self):
        return f"is nested deeper than {self.deepest} levels, which many readers of JSON refuse; flatten it"

    def too_long(self):
        digits = self.longest_integer
        return f"an integer of more than {digits} digits, which many readers of JSON refuse; use str(…)"

    def _is_deep(self, payload):
        if not self._has_many(payload, b"[") and not self._has_many(payload, b"{"):
            return False
        brackets = payload.translate(_BRACKETS_ALIKE, _NO_BRACKETS)
        for _ in range(self.deepest):
            if not brackets:
                return False
            brackets = brackets.replace(b"[]", b"")
        return bool(brackets)

    def _has_many(self, payload, bracket):
        # Not `count`, which looks at every byte of a long text: this jumps.
        at = -1
        for _ in range(self.deepest // 2):
            at = payload.find(bracket, at + 1)
            if at < 0:
                return False
        return True

    def _is_long(self, payload):
        # So many digits in a row are several in a row of every fiftieth byte, too.
        if b"0" * ((self.longest_integer + 1) // 50) not in payload[::50].translate(_DIGITS_ALIKE):
            return False
        return b"0" * (self.longest_integer + 1) in payload.translate(_DIGITS_ALIKE)


rules = Rules()


def to_json(value, where, most, strict=False):
    """`value` as JSON in UTF-8. Raises what says which part of it cannot be, or how much too long it is.

    What JSON has no word for is converted, unless `strict`.
    """
    try:
        written = _written(value, most, strict)
        # Before another copy is made: a value this long may be all that fits into the cell.
        payload = written.encode("utf-8") if len(written) <= most else written
        # Rarely: only what is no text can be written like another key.
        if payload is not written and _may_clash(payload) and keys.has_clash(value, most):
            raise ValueError("two keys are one in JSON")
    except UnicodeEncodeError as error:
        surrogate = error.object[error.start]
        raise ValueError(
            f"{where}: the text holds a lone surrogate ({surrogate!a}), which is not valid Unicode"
        ) from None
    except RecursionError:
        raise ValueError(f"{where} {rules.too_deep()}") from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        found = _offender(value, where, set(), None if strict else most)
        raise kind(found or f"{where}: {error}") from None
    if len(payload) > most:
        raise ValueError(
            f"{where} is {len(payload):,} bytes as JSON, and all output together may be {most:,}; "
            "emit less, or raise max_output_bytes"
        )
    # What is shorter can be neither deep nor a long number.
    if len(payload) > 120:
        fault = rules.why_not(payload)
        if fault:
            raise ValueError(f"{where} {fault}")
    return payload


def _written(value, most, strict):
    try:
        return encode(value)
    except TypeError:
        if strict:
            raise
    try:
        return "".join(_make_encoder(lambda part: conversions.convert(part, most))(value))
    except conversions.Unfit:
        raise
    except TypeError:
        # A key, most likely, which no encoder lets us convert.
        return encode(keys.with_plain_keys(value, most))


def _may_clash(payload):
    """Whether a key may have been a number, True, False or None. Nearly always there is none."""
    if b'":' not in payload:
        return False
    return (
        b'0":' in payload.translate(_DIGITS_ALIKE)
        or b'"null":' in payload
        or b'"true":' in payload
        or b'"false":' in payload
    )


def _offender(value, path, seen, most):
    """Names the first part of `value` that JSON cannot hold. Nothing is converted if `most` is None."""
    if isinstance(value, int) and value.bit_length() > 4 * rules.longest_integer:
        return f"{path} is {rules.too_long()}"
    if value is None or isinstance(value, (bool, int, str)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{path} is {value!r}, and JSON has no such number"
    kind = f"{type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")
    if id(value) in seen:
        return f"{path} refers back to a value that contains it"
    if len(seen) > 200:
        return None
    seen = seen | {id(value)}
    if not isinstance(value, (dict, list, tuple)):
        try:
            if most is not None:
                return _offender(conversions.convert(value, most), path, seen, most)
        except conversions.Unfit:
            pass
        except (tables.TooLarge, tables.Clash) as error:
            return f"{path} {error}"
        except Exception as error:
            return f"{path} is a {kind} that could not be converted: {type(error).__name__}: {error}"
        return f"{path} is a {kind}, which JSON cannot hold{_hint(value, kind)}"
    is_dict = isinstance(value, dict)
    for key, item in value.items() if is_dict else enumerate(value):
        shown = shorten(repr(key), 80)
        if is_dict and not _is_key(key, most):
            return f"{path} has the key {shown}, a {type(key).__name__}; JSON keys are text"
        if is_dict and isinstance(key, float) and not math.isfinite(key):
            return f"{path} has the key {shown}, and JSON has no such number"
        found = _offender(item, f"{path}[{shown}]", seen, most)
        if found:
            return found
    alike = tables.clash(value, lambda key: _spelled(key, most)) if is_dict else None
    if alike is not None:
        one, other = (shorten(repr(key), 80) for key in alike[:2])
        written = shorten(repr(alike[2]), 80)
        return f"{path} has the keys {one} and {other}, which are both {written} in JSON; rename one"
    return None


def _is_key(key, most):
    if most is None:
        return key is None or isinstance(key, (str, int, float))
    return keys.convert_key(key) is not Ellipsis


def _spelled(key, most):
    return keys.spelled(key if most is None else keys.convert_key(key))


def _hint(value, kind):
    hints = {
        "generator": "; use list(…)",
        "map": "; use list(…)",
        "filter": "; use list(…)",
        "zip": "; use list(…)",
        "set": "; use list(…)",
        "frozenset": "; use list(…)",
        "bytes": "; use .decode() or base64",
        "bytearray": "; use .decode() or base64",
        "datetime.datetime": "; use .isoformat()",
        "datetime.date": "; use .isoformat()",
        "decimal.Decimal": "; use float(…) or str(…)",
        "__main__.ToolResponse": "; use its .data",
    }
    if kind in hints:
        return hints[kind]
    if hasattr(value, "item"):
        return "; use .item()"
    return "; use .tolist()" if hasattr(value, "tolist") else ""


def shorten(words, limit):
    return words if len(words) <= limit else f"{words[:limit]}… ({len(words) - limit:,} more characters)"


def text(words):
    """A JSON string in UTF-8, whatever a script put into it."""
    try:
        return _quote(words).encode("utf-8")
    except UnicodeEncodeError:
        return _quote(words.encode("utf-8", "backslashreplace").decode("utf-8")).encode("utf-8")
