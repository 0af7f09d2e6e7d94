"""Values that JSON has no word for, one step nearer to JSON: what people give to `emit_result`.

    value ──► convert ──► what JSON can hold, or something nearer to it; Unfit if nothing is known

Types are known by their names and by what their objects can do. Nothing is imported: a value of a
module's is proof that the module is there. No run that emits plain JSON comes here.
"""

import sys

from . import tables
from .tables import TooLarge


class Unfit(TypeError):
    """A value that nothing here knows."""


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


def _enum(value, _):
    return value.value


def _call(name, **arguments):
    return lambda value, _: getattr(value, name)(**arguments)


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
    "pandas.core.frame.DataFrame": tables.frame,
    "pandas.core.series.Series": tables.series,
    "pandas.DataFrame": tables.frame,
    "pandas.Series": tables.series,
    "pandas._libs.missing.NAType": _nothing,
    "pandas.api.typing.NAType": _nothing,
    "pandas._libs.tslibs.nattype.NaTType": _nothing,
    "pandas._libs.tslibs.period.Period": _text,
    "pandas._libs.interval.Interval": _text,
    "pathlib.PurePath": _text,
    "pathlib._local.PurePath": _text,
    "polars.dataframe.frame.DataFrame": _call("to_dicts"),
    "polars.series.series.Series": _call("to_list"),
    "pyarrow.lib.RecordBatch": tables.arrow,
    "pyarrow.lib.Table": tables.arrow,
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
