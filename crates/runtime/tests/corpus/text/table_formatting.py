# files: students.txt
rows = []
with open("students.txt", encoding="utf-8") as f:
    for line in f:
        name, *scores = line.split("\t")
        scores = [int(s) for s in scores]
        rows.append((name, *scores, sum(scores) / len(scores)))
rows.sort(key=lambda r: -r[-1])
header = ("Name", "Q1", "Q2", "Q3", "Mean")
print("┌" + "┬".join("─" * 10 for _ in header) + "┐")
print("│" + "│".join(f"{h:^10}" for h in header) + "│")
for name, *scores, mean in rows:
    print("│" + f"{name:<10}│" + "│".join(f"{s:>10}" for s in scores) + f"│{mean:>10.2f}│")
print("└" + "┴".join("─" * 10 for _ in header) + "┘")
