# stdin: 2 3\n1 2 3\n4 5 6\n
import sys


def read_matrix(stream):
    rows, cols = map(int, stream.readline().split())
    matrix = [list(map(int, stream.readline().split())) for _ in range(rows)]
    assert all(len(r) == cols for r in matrix)
    return matrix


m = read_matrix(sys.stdin)
t = [list(col) for col in zip(*m)]
for row in t:
    print(*row)
print("rest:", repr(sys.stdin.read()))
