from __future__ import annotations

import typing
from typing import Annotated, Any, Callable, Literal, NamedTuple, Optional, TypedDict, Union, get_args, get_type_hints


class Movie(TypedDict, total=False):
    title: str
    year: int


class Employee(NamedTuple):
    name: str
    id: int = 3


def f(a: int, b: Optional[str] = None, *, c: Callable[[int], str] | None = None) -> Literal["x", "y"]:
    return "x"


print(get_type_hints(f)["a"], f.__annotations__["b"])
print(get_type_hints(Movie), Movie(title="Up"), Employee("Guido"), Employee._field_defaults)
print(get_args(Union[int, str]), typing.get_origin(list[int]), get_args(Annotated[int, "meta"]))
print(typing.cast(Any, 5), f(1))
