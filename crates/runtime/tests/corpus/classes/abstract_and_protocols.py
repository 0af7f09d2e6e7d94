from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...

    def __str__(self):
        return f"{type(self).__name__} of {self.area():.2f}"


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


@runtime_checkable
class Quacks(Protocol):
    def quack(self) -> str: ...


class Duck:
    def quack(self):
        return "Quack"


class Stack(Generic[T]):
    def __init__(self) -> None:
        self.items: list[T] = []

    def push(self, item: T) -> "Stack[T]":
        self.items.append(item)
        return self


print(Square(3), isinstance(Duck(), Quacks), isinstance(3, Quacks))
print(Stack[int]().push(1).push(2).items, Stack[int])
Shape()
