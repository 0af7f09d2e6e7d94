"""Objects of classes of this file travel to workers and back."""

from dataclasses import dataclass
from enum import Enum
from functools import partial
from multiprocessing import Pool
from typing import NamedTuple


class Kind(Enum):
    A = 1
    B = 2


@dataclass(order=True)
class Item:
    weight: float
    kind: Kind


class Pair(NamedTuple):
    left: Item
    right: int


def process(scale, item):
    return Pair(Item(item.weight * scale, item.kind), len(item.kind.name))


if __name__ == "__main__":
    with Pool(2) as pool:
        for pair in pool.map(partial(process, 2.5), [Item(1, Kind.A), Item(2, Kind.B)]):
            print(pair, isinstance(pair.left, Item), pair.left.kind is Kind.A)
