"""What a function takes, from its signature, type hints and docstring.

A parameter has a kind, written as Python writes the type: `str`, `list[int]`, `dict`. Types that JSON
has no word for (dataclasses, enumerations, pydantic's models) cross as what JSON has for them, and
are made again before the function is called.
"""

from __future__ import annotations

import base64
import collections.abc
import dataclasses
import datetime
import enum
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, Callable, Literal, Optional, Union

from .errors import ToolError

__all__ = ["Described", "Parameter", "describe"]

Convert = Callable[[Any], Any]
_PLAIN = {str: "str", int: "int", float: "float", bool: "bool", bytes: "bytes", list: "list", dict: "dict"}
_UNION = {Union, getattr(types, "UnionType", Union)}
_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


@dataclasses.dataclass
class Hint:
    """What a type hint says."""

    kind: str = "any"
    nullable: bool = False
    options: list[Any] = dataclasses.field(default_factory=list)
    note: str = ""
    convert: Optional[Convert] = None


@dataclasses.dataclass
class Parameter:
    """One parameter of a function."""

    name: str
    hint: Hint
    description: str = ""
    required: bool = True
    default: Any = None
    keyword_only: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As a tool's description has it."""
        notes = [part for part in (self.description, self.hint.note) if part]
        told: dict[str, Any] = {
            "name": self.name,
            "kind": self.hint.kind,
            "description": " ".join(notes),
            "required": self.required,
            "nullable": self.hint.nullable or (not self.required and self.default is None),
            "keyword_only": self.keyword_only,
            "options": self.hint.options,
        }
        if not self.required:
            told["default"] = self.default
        return told


@dataclasses.dataclass
class Described:
    """What a function takes."""

    description: str
    parameters: list[Parameter]

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Calls it with arguments from JSON."""
        given = dict(arguments)
        for parameter in self.parameters:
            convert = parameter.hint.convert
            if convert is not None and given.get(parameter.name) is not None:
                given[parameter.name] = convert(given[parameter.name])
        return function(**given)


def describe(function: Callable[..., Any]) -> Described:
    """What a function takes. One with `*args`, or with parameters without a name, is refused."""
    name = getattr(function, "__name__", repr(function))
    signature = inspect.signature(function)
    hints = _hints(function, signature, name)
    said, about = _read_docstring(inspect.getdoc(function) or "", set(signature.parameters))
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"tool {name}: {parameter} has no name by which a script could give it")
        hint = read_hint(hints.get(parameter.name, Any))
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        if isinstance(default, enum.Enum):
            default = default.value
        elif dataclasses.is_dataclass(default) or hasattr(default, "model_dump"):
            raise TypeError(f"tool {name}: the default of {parameter.name} has no form in JSON")
        parameters.append(
            Parameter(
                parameter.name,
                hint,
                about.get(parameter.name, ""),
                required,
                default,
                parameter.kind is parameter.KEYWORD_ONLY,
            )
        )
    return Described(said, parameters)


def _hints(function: Callable[..., Any], signature: inspect.Signature, name: str) -> dict[str, Any]:
    """The type hints of parameters. One that cannot be read would be one that is not checked."""
    plain = inspect.unwrap(function)
    names = dict(getattr(plain, "__globals__", {}))
    if inspect.isfunction(plain):
        names.update(inspect.getclosurevars(plain).nonlocals)
    hints = {}
    for parameter in signature.parameters.values():
        if parameter.annotation is parameter.empty:
            continue
        holder = types.SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
        try:
            hints.update(typing.get_type_hints(holder, names, names, include_extras=True))
        except Exception as error:
            raise ToolError(
                f"tool {name}: the type of {parameter.name}, {parameter.annotation!r}, cannot be read here "
                f"({type(error).__name__}: {error}). Name it so that it is there at run time"
            ) from error
    return hints


def read_hint(hint: Any) -> Hint:
    """What a type hint says."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        found = read_hint(arguments[0])
        words = [_words(extra) for extra in arguments[1:]]
        found.note = " ".join([*[word for word in words if word], *([found.note] if found.note else [])])
        return found
    if hint in _PLAIN:
        return Hint(_PLAIN[hint], convert=_CONVERSIONS.get(hint))
    if origin in _UNION:
        return _union(arguments)
    if origin is Literal:
        kinds = {_PLAIN.get(type(option), "any") for option in arguments}
        return Hint(kinds.pop() if len(kinds) == 1 else "any", options=list(arguments))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        options = [each.value for each in hint]
        kinds = {_PLAIN.get(type(option), "any") for option in options}
        return Hint(kinds.pop() if len(kinds) == 1 else "any", options=options, convert=hint)
    if origin in _LISTS or hint in _LISTS:
        return _list(hint if origin is None else origin, arguments)
    if origin in _DICTS or hint in _DICTS:
        value = read_hint(arguments[1]) if len(arguments) == 2 else Hint()
        kind = f"dict[str, {value.kind}]" if value.kind != "any" and not value.nullable else "dict"
        convert = value.convert
        return Hint(kind, convert=convert and (lambda given: {key: convert(it) for key, it in given.items()}))
    return _made(hint)


def _union(arguments: tuple[Any, ...]) -> Hint:
    others = [each for each in arguments if each is not type(None)]
    found = read_hint(others[0]) if len(others) == 1 else Hint()
    found.nullable = len(others) < len(arguments)
    return found


def _list(shape: Any, arguments: tuple[Any, ...]) -> Hint:
    if shape is tuple and arguments and arguments[-1] is not Ellipsis:
        return Hint("list", convert=tuple)
    item = read_hint(arguments[0]) if arguments else Hint()
    kind = f"list[{item.kind}]" if item.kind != "any" and not item.nullable else "list"
    make = shape if shape in (tuple, set, frozenset) else list
    convert = item.convert
    if convert is None:
        return Hint(kind, convert=make if make is not list else None)
    return Hint(kind, convert=lambda given: make(convert(each) for each in given))


def _made(hint: Any) -> Hint:
    """A class whose instances are made of what JSON has."""
    if hasattr(hint, "model_validate") and hasattr(hint, "model_fields"):  # pydantic
        fields = ", ".join(
            f"{name}: {_name_of(each.annotation)}{'' if each.is_required() else ' (optional)'}"
            for name, each in hint.model_fields.items()
        )
        return Hint("dict", note=f"An object with {fields}.", convert=hint.model_validate)
    if typing.is_typeddict(hint) if sys.version_info >= (3, 10) else hasattr(hint, "__total__"):
        fields = ", ".join(f"{name}: {_name_of(kind)}" for name, kind in hint.__annotations__.items())
        return Hint("dict", note=f"An object with {fields}.")
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        fields = ", ".join(f"{each.name}: {_name_of(each.type)}" for each in dataclasses.fields(hint))
        return Hint("dict", note=f"An object with {fields}.", convert=functools.partial(_instance, hint))
    if hint in (datetime.datetime, datetime.date, datetime.time):
        return Hint("str", note="In ISO 8601.", convert=hint.fromisoformat)
    return Hint()


def _instance(cls: type[Any], given: Mapping[str, Any]) -> Any:
    """A dataclass of what JSON has, whose fields are checked as parameters are."""
    hints = typing.get_type_hints(cls, include_extras=True)
    values = {}
    for name, value in given.items():
        hint = read_hint(hints.get(name, Any))
        plain = _CHECKED.get(hint.kind)
        is_wrong = plain is not None and (
            not isinstance(value, plain) or isinstance(value, bool) != (plain is bool)
        )
        if is_wrong and not (value is None and hint.nullable):
            raise TypeError(f"{name} must be {hint.kind}, not {value!r:.40}")
        values[name] = hint.convert(value) if hint.convert is not None and value is not None else value
    return cls(**values)


_CHECKED: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool}


def _to_bytes(given: Any) -> bytes:
    return base64.b64decode(given["__bytes__"]) if isinstance(given, dict) else bytes(given)


# JSON does not tell a whole number from a float.
_CONVERSIONS: dict[Any, Convert] = {bytes: _to_bytes, float: float}


def _name_of(hint: Any) -> str:
    return hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))


def _words(extra: Any) -> str:
    """What `Annotated[…, "words"]` or `Field(description="words")` says."""
    return extra if isinstance(extra, str) else str(getattr(extra, "description", "") or "")


_HEADING = re.compile(r"^(Args|Arguments|Parameters|Params):\s*$")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:(?:\s+(.*))?$")
_NUMPY = re.compile(r"^(Parameters|Other Parameters)\s*$")
_FIELD = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)$")


def _read_docstring(text: str, names: set[str]) -> tuple[str, dict[str, str]]:
    """The description, and what is said about parameters, in the three usual styles."""
    lines, kept, about = text.split("\n"), [], {}
    current: Optional[str] = None
    block: Optional[str] = None
    for at, line in enumerate(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        bare, indented = line.strip(), line[:1].isspace()
        found = _FIELD.match(bare)
        if found and found[1] in names:
            about[found[1]], current, block = found[2], found[1], "sphinx"
        elif _HEADING.match(line):
            block, current = "google", None
        elif _NUMPY.match(line) and following.startswith("---"):
            block, current = "numpy", None
        elif block == "numpy" and (bare.startswith("---") or not bare):
            continue
        elif block == "numpy" and not indented and bare.split(":")[0].strip() in names:
            current = bare.split(":")[0].strip()
            about[current] = ""
        elif block == "google" and indented and _ENTRY.match(bare) and _ENTRY.match(bare)[1] in names:  # type: ignore[index]
            entry = _ENTRY.match(bare)
            current = entry[1]  # type: ignore[index]
            about[current] = entry[2] or ""  # type: ignore[index]
        elif block and current and indented and bare:
            about[current] = f"{about[current]} {bare}".strip()
        elif block == "google" and not bare:
            continue
        else:
            block, current = None, None
            kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), about
