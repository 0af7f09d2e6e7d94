PUZZLE = """53..7....
6..195...
.98....6.
8...6...3
4..8.3..1
7...2...6
.6....28.
...419..5
....8..79"""


def solve(board):
    best = None
    for i, cell in enumerate(board):
        if cell == ".":
            r, c = divmod(i, 9)
            used = set(board[r * 9 : r * 9 + 9]) | set(board[c::9])
            b = r // 3 * 27 + c // 3 * 3
            used |= {board[b + dr * 9 + dc] for dr in range(3) for dc in range(3)}
            options = [d for d in "123456789" if d not in used]
            if best is None or len(options) < len(best[1]):
                best = (i, options)
    if best is None:
        return board
    i, options = best
    for d in options:
        if result := solve(board[:i] + d + board[i + 1 :]):
            return result
    return None


solution = solve(PUZZLE.replace("\n", ""))
for r in range(9):
    print(" ".join(solution[r * 9 : r * 9 + 9]))
