import cmath
import math

A = [[2, 1, -1], [-3, -1, 2], [-2, 1, 2]]
b = [8, -11, -3]


def solve(a, b):
    m = [row[:] + [x] for row, x in zip(a, b)]
    n = len(m)
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[p] = m[p], m[i]
        for j in range(i + 1, n):
            f = m[j][i] / m[i][i]
            m[j] = [x - f * y for x, y in zip(m[j], m[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (m[i][n] - sum(m[i][k] * x[k] for k in range(i + 1, n))) / m[i][i]
    return x


print([round(v, 9) for v in solve(A, b)])
print(math.fsum([0.1] * 10), sum([0.1] * 10), math.isclose(0.1 * 3, 0.3), math.hypot(3, 4))
print(cmath.sqrt(-1), abs(3 + 4j), math.inf > 10**308, math.nan == math.nan, (0.1).hex(), (0.75).as_integer_ratio())
try:
    math.sqrt(-1)
except ValueError as e:
    print("ValueError:", e)
print(math.exp(1000))
