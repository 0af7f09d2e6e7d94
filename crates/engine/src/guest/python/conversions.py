"""Values that JSON has no word for, one step nearer to JSON: what people give to `emit_result`.

    value ──► convert ──► what JSON can hold, or something nearer to it; Unfit if nothing is known

Types are known by their names and by what their objects can do. Nothing is imported: a value of a
module's is proof that the module is there. No run that emits plain JSON comes here.
"""

import math
import sys


class Unfit(TypeError):
    """A value that nothing here knows."""


class TooLarge(ValueError):
    """More values than all output may have bytes."""


class Clash(ValueError):
    """Two names that are one in JSON. One of two values would be lost."""


def convert(value, most=1 << 62):
    """One step towards JSON. The encoder converts what is in the result by itself.

    `most` is how many bytes all output may be. What cannot fit is refused before it is unfolded.
    """
    for kind in type(value).__mro__:
        known = _BY_TYPE.get(f"{kind.__module__}.{kind.__qualname__}")
        if known is not None:
            return known(value, most)
    for mark, known in _BY_MARK:
        if hasattr(type(value), mark):
            return known(value, most)
    raise Unfit(f"{type(value).__name__} is not JSON")


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


def clash(names, spelling=str):
    """The first two names that are written alike, and how they are written; None if all differ."""
    first = {}
    for name in names:
        written = spelling(name)
        if written in first:
            return first[written], name, written
        first[written] = name
    return None


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


def _text(value, _):
    return str(value)


def _bytes(value, _):
    import binascii

    return {"__bytes__": binascii.b2a_base64(value, newline=False).decode("ascii")}


def _moment(value, _):
    # Also pandas.Timestamp; pandas.NaT calls itself a datetime.
    return value.isoformat() if value == value else None


def _seconds(value, _):
    return value.total_seconds()


def _complex(value, _):
    return {"real": value.real, "imag": value.imag}


def _set(value, _):
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=lambda item: (type(item).__name__, repr(item)))


def _list(value, _):
    return list(value)


def _mapping(value, _):
    return {key: value[key] for key in value}


def _attributes(value, _):
    return dict(vars(value))


def _dataclass(value, _):
    if isinstance(value, type):
        raise Unfit("a class")
    fields = sys.modules["dataclasses"].fields(value)
    return {field.name: getattr(value, field.name) for field in fields}


def _attrs(value, _):
    return {field.name: getattr(value, field.name) for field in type(value).__attrs_attrs__}


def _nothing(_value, _):
    return None


def _scalar(value, _):
    """A number of numpy's."""
    if value.dtype.kind in "Mm":
        return _times(value.reshape(1))[0]
    plain = value.item()
    # A long double stays what it is.
    return float(plain) if type(plain) is type(value) else plain


def _array(value, most):
    # Each item takes a comma and a digit at least.
    if value.size * 2 > most:
        raise TooLarge(f"is an array of {value.size:,} values, and all output together may be {most:,} bytes")
    return _times(value) if value.dtype.kind in "Mm" else value.tolist()


def _times(array):
    """Moments as ISO 8601 and durations as seconds, at any depth."""
    numpy = sys.modules["numpy"]
    missing, nested = numpy.isnat(array), array.ndim > 1
    if nested:
        return [_times(part) for part in array]
    told = numpy.datetime_as_string(array) if array.dtype.kind == "M" else array / numpy.timedelta64(1, "s")
    return [None if gone else item for gone, item in zip(missing.tolist(), told.tolist())]


def _frame(frame, most):
    """A list of records. The index is part of them, unless it only counts."""
    if frame.size * 2 > most:
        raise TooLarge(f"is a table of {frame.size:,} values, and all output together may be {most:,} bytes")
    if not _only_counts(frame.index):
        frame = frame.reset_index(allow_duplicates=True) if _has_duplicates(frame) else frame.reset_index()
    names = _names(frame.columns)
    columns = [_without_gaps(frame.iloc[:, place]) for place in range(len(names))]
    return [dict(zip(names, row)) for row in zip(*columns)]


def _series(series, most):
    """A list, or an object by label where labels mean something and each is there once."""
    if series.size * 2 > most:
        raise TooLarge(
            f"is a series of {series.size:,} values, and all output together may be {most:,} bytes"
        )
    if _only_counts(series.index):
        return _without_gaps(series)
    if series.index.nlevels > 1 or not series.index.is_unique:
        return _frame(series.rename("value" if series.name is None else series.name).to_frame(), most)
    return dict(zip(_names(series.index.tolist(), "labels"), _without_gaps(series)))


def _names(given, what="columns"):
    """Names as text. Two that are alike would be one, and the values of the other lost."""
    given = list(given)
    found = clash(given)
    if found is not None:
        one, other, written = found
        raise Clash(f"has the {what} {one!r} and {other!r}, which are both {written!r} in JSON; rename one")
    return list(map(str, given))


def _arrow(table, most):
    if table.num_rows * table.num_columns * 2 > most:
        size = table.num_rows * table.num_columns
        raise TooLarge(f"is a table of {size:,} values, and all output together may be {most:,} bytes")
    _names(table.column_names)
    return table.to_pylist()


def _only_counts(index):
    return index.nlevels == 1 and index.name is None and index.dtype.kind in "iu"


def _has_duplicates(frame):
    taken = {name for name in frame.index.names if name is not None} or {"index"}
    return bool(taken.intersection(map(str, frame.columns)))


def _without_gaps(series):
    """What is missing (NaN, NaT, NA) is null in JSON."""
    values = series.tolist()
    return [None if gone else value for gone, value in zip(series.isna().tolist(), values)]


def _enum(value, _):
    return value.value


def _call(name, **arguments):
    return lambda value, _: getattr(value, name)(**arguments)


_CONSTANTS = {None: "null", True: "true", False: "false"}
_LEAVES = frozenset((str, int, float, bool, type(None)))

_BY_TYPE = {
    "__main__.ToolResponse": _attributes,
    "array.array": _list,
    "builtins.bytearray": _bytes,
    "builtins.bytes": _bytes,
    "builtins.complex": _complex,
    "builtins.dict_items": _list,
    "builtins.dict_keys": _list,
    "builtins.dict_values": _list,
    "builtins.frozenset": _set,
    "builtins.mappingproxy": _mapping,
    "builtins.memoryview": _bytes,
    "builtins.range": _list,
    "builtins.set": _set,
    "collections.ChainMap": _mapping,
    "collections.UserDict": _mapping,
    "collections.UserList": _list,
    "collections.UserString": _text,
    "collections.deque": _list,
    "datetime.date": _moment,
    "datetime.time": _moment,
    "datetime.timedelta": _seconds,
    "decimal.Decimal": _text,
    "enum.Enum": _enum,
    "fractions.Fraction": _text,
    "numpy.generic": _scalar,
    "numpy.ndarray": _array,
    "pandas.core.frame.DataFrame": _frame,
    "pandas.core.series.Series": _series,
    "pandas.DataFrame": _frame,
    "pandas.Series": _series,
    "pandas._libs.missing.NAType": _nothing,
    "pandas.api.typing.NAType": _nothing,
    "pandas._libs.tslibs.nattype.NaTType": _nothing,
    "pandas._libs.tslibs.period.Period": _text,
    "pandas._libs.interval.Interval": _text,
    "pathlib.PurePath": _text,
    "pathlib._local.PurePath": _text,
    "polars.dataframe.frame.DataFrame": _call("to_dicts"),
    "polars.series.series.Series": _call("to_list"),
    "pyarrow.lib.RecordBatch": _arrow,
    "pyarrow.lib.Table": _arrow,
    "types.SimpleNamespace": _attributes,
    "uuid.UUID": _text,
}

# By what a class has, for those that others are derived from or that many packages have.
_BY_MARK = (
    ("__dataclass_fields__", _dataclass),
    ("__attrs_attrs__", _attrs),
    # pydantic 2 and 1.
    ("model_dump", _call("model_dump")),
    ("__fields_set__", _call("dict")),
    ("tolist", _call("tolist")),
)
