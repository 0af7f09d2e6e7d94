from functools import cache, cached_property, lru_cache, partial, reduce, singledispatch, total_ordering


@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@singledispatch
def describe(x):
    return f"something: {x!r}"


@describe.register
def _(x: int):
    return f"int {x}"


@describe.register(list)
def _(x):
    return f"list of {len(x)}"


@total_ordering
class Version:
    def __init__(self, text):
        self.parts = tuple(map(int, text.split(".")))

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts

    @cached_property
    def major(self):
        print("computed")
        return self.parts[0]


print(fib(90), fib.cache_info())
print(describe(3), describe([1]), describe(None))
v = Version("1.10")
print(v > Version("1.9"), v.major, v.major, reduce(lambda a, b: a * b, range(1, 6)), partial(int, base=2)("101"))
print(cache(len)("abc"))
