import itertools

GRID = """
.....
..#..
...#.
.###.
.....
""".split()


def step(cells):
    counts = {}
    for x, y in cells:
        for dx, dy in itertools.product((-1, 0, 1), repeat=2):
            if dx or dy:
                counts[(x + dx, y + dy)] = counts.get((x + dx, y + dy), 0) + 1
    return {c for c, n in counts.items() if n == 3 or (n == 2 and c in cells)}


cells = {(x, y) for y, row in enumerate(GRID) for x, ch in enumerate(row) if ch == "#"}
for generation in range(4):
    print(f"generation {generation}: {len(cells)} alive")
    for y in range(7):
        print("".join("#" if (x, y) in cells else "." for x in range(7)))
    cells = step(cells)
