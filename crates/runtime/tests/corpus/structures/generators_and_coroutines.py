def averager():
    total = count = 0
    average = None
    while True:
        value = yield average
        if value is None:
            return total, count
        total, count = total + value, count + 1
        average = total / count


def delegate(results):
    results.append((yield from averager()))
    yield "done"


results = []
g = delegate(results)
next(g)
print(g.send(10), g.send(20), g.send(None), results)
squares = (x * x for x in range(10**9))
print(next(squares), next(squares), sum(x for x in range(100) if x % 7 == 0))


def stubborn():
    try:
        yield 1
    except ValueError:
        yield "handled"
    finally:
        print("generator closed")


s = stubborn()
next(s)
print(s.throw(ValueError))
s.close()
matrix = [[1, 2], [3, 4]]
print([x for row in matrix for x in row], {k: v for v, k in enumerate("ab")}, {len(w) for w in ("a", "b")})
