from enum import Enum, Flag, IntEnum, auto, unique


class Color(Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1

    @property
    def hex(self):
        return {"RED": "#f00", "GREEN": "#0f0"}[self.name]


class Perm(Flag):
    R = auto()
    W = auto()
    X = auto()


class Level(IntEnum):
    LOW = 1
    HIGH = 10


print(list(Color), Color.CRIMSON is Color.RED, Color(2), Color["GREEN"].hex)
print(Perm.R | Perm.W, Perm.R in (Perm.R | Perm.X), bool(Perm.R & Perm.W))
print(Level.HIGH > 5, max(Level).name, f"{Level.LOW:d}")
try:
    Color(7)
except ValueError as e:
    print(e)
try:
    unique(Color)
except ValueError as e:
    print(e)
