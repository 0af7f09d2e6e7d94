# python: 3.10
from dataclasses import dataclass


@dataclass
class Click:
    x: int
    y: int


def handle(event):
    match event:
        case Click(x=0, y=0):
            return "origin"
        case Click(x, y) if x == y:
            return f"diagonal {x}"
        case {"type": "key", "code": int(code), **rest}:
            return f"key {code} {rest}"
        case ["move", *points] if points:
            return f"move through {len(points)}"
        case str() | bytes():
            return "text"
        case None:
            return "nothing"
        case _:
            return "unknown"


for e in (Click(0, 0), Click(2, 2), Click(1, 2), {"type": "key", "code": 13, "shift": True}, ["move", 1, 2], "s", b"b", None, 3.5):
    print(handle(e))
