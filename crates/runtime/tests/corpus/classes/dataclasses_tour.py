from dataclasses import FrozenInstanceError, asdict, astuple, dataclass, field, fields, replace
from typing import ClassVar, List


@dataclass(order=True)
class Task:
    priority: int
    name: str = field(compare=False)
    tags: List[str] = field(default_factory=list, compare=False, repr=False)
    count: ClassVar[int] = 0

    def __post_init__(self):
        type(self).count += 1
        if self.priority < 0:
            raise ValueError("negative priority")


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.0


tasks = [Task(3, "c"), Task(1, "a", ["x"]), Task(2, "b")]
print(sorted(tasks), Task.count)
print(asdict(tasks[1]), astuple(Point(1)), [f.name for f in fields(Task)], replace(Point(1), y=9))
try:
    Point(1).x = 2
except FrozenInstanceError as e:
    print(type(e).__name__, e)
print(len({Point(1), Point(1)}), Task(1, "z") == Task(1, "y"))
Task(-1, "bad")
