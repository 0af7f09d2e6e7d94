# files: poem.txt
from collections import Counter

with open("poem.txt", encoding="utf-8") as f:
    lines = f.readlines()

words = sum(len(line.split()) for line in lines)
chars = sum(len(line) for line in lines)
print(f"{len(lines):4d} {words:4d} {chars:4d} poem.txt")
letters = Counter(c for line in lines for c in line.lower() if c.isalpha())
print(letters.most_common(5))
