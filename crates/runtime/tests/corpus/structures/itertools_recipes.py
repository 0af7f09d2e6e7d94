import itertools as it
import operator


def chunks(iterable, n):
    iterator = iter(iterable)
    while batch := list(it.islice(iterator, n)):
        yield batch


print(list(chunks(range(7), 3)))
print(list(it.accumulate([1, 2, 3, 4], operator.mul)), list(it.pairwise("abcd")) if hasattr(it, "pairwise") else "")
print(["".join(p) for p in it.permutations("abc", 2)], list(it.combinations(range(4), 2)))
print([(k, len(list(g))) for k, g in it.groupby("aaabbc")])
print(list(it.zip_longest([1, 2], "x", fillvalue="-")), list(it.takewhile(lambda x: x < 3, it.count())))
print(list(it.chain.from_iterable([[1], [2, 3]])), list(it.product("ab", repeat=2))[:3], list(it.starmap(pow, [(2, 3)])))
