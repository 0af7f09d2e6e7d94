"""Shapes, for scripts that import a neighbour."""

import math


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius**2


def square(side):
    return side * side


PI_ISH = round(math.pi, 2)

if __name__ == "__main__":
    print("run directly, not imported")
