# stdin-file: poem.txt
import sys
from collections import Counter

text = sys.stdin.read()
words = [w.strip(".,;").lower() for w in text.split()]
for word, count in sorted(Counter(words).items(), key=lambda kv: (-kv[1], kv[0]))[:8]:
    print(f"{word:<10}{count:>3}")
print(len(text), "characters", text.count("\n"), "lines")
