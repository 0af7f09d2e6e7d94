from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple

Point = namedtuple("Point", "x y", defaults=[0])
p = Point(3)
print(p, p._replace(y=5), p._asdict())
d = deque(range(5), maxlen=3)
d.rotate(1)
d.appendleft(9)
print(d)
c = Counter("mississippi")
c.subtract("miss")
print(sorted(c.items()), (c + Counter("zz")).total())
groups = defaultdict(list)
for word in "apple avocado banana blueberry cherry".split():
    groups[word[0]].append(word)
print(dict(groups))
print(ChainMap({"a": 1}, {"a": 2, "b": 3})["b"], list(OrderedDict(b=1, a=2)))
