"""Values of Python's as JSON, for answers of tools."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import os
import uuid
from collections.abc import Mapping, Set
from typing import Any

__all__ = ["to_json"]


def to_json(value: Any) -> str:
    """A value as JSON. What has no place there is a `TypeError` or a `ValueError`."""
    text = json.dumps(value, default=_other, allow_nan=False, ensure_ascii=False)
    # Half of a surrogate pair is no text that could be handed over.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _other(value: Any) -> Any:
    """What `json` does not know, in the forms that scripts' own results have."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):  # pydantic
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        # The guest makes bytes of it again.
        return {"__bytes__": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, (uuid.UUID, os.PathLike)):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return list(value)
    for method in ("tolist", "item"):  # numpy
        if callable(getattr(value, method, None)) and type(value).__module__ == "numpy":
            return getattr(value, method)()
    raise TypeError(f"{type(value).__name__} {value!r:.80} has no form in JSON")
