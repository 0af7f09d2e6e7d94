import math


class Vector:
    def __init__(self, *xs):
        self.xs = xs

    def __repr__(self):
        return f"Vector{self.xs}"

    def __add__(self, o):
        return Vector(*(a + b for a, b in zip(self.xs, o.xs, strict=True))) if isinstance(o, Vector) else NotImplemented

    def __mul__(self, k):
        return Vector(*(k * x for x in self.xs))

    __rmul__ = __mul__

    def __matmul__(self, o):
        return sum(a * b for a, b in zip(self.xs, o.xs))

    def __abs__(self):
        return math.sqrt(self @ self)

    def __getitem__(self, i):
        return self.xs[i]

    def __bool__(self):
        return any(self.xs)

    def __hash__(self):
        return hash(self.xs)

    def __eq__(self, o):
        return self.xs == o.xs


v = Vector(3, 4)
print(v + Vector(1, 1), 2 * v, v @ v, abs(v), v[0], bool(Vector(0, 0)), [*v], v == Vector(3, 4))
try:
    v + 1
except TypeError as e:
    print("TypeError:", e)
