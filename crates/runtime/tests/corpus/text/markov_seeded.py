# files: poem.txt
import random
from collections import defaultdict

random.seed(1234)
words = open("poem.txt").read().split()
chain = defaultdict(list)
for a, b in zip(words, words[1:]):
    chain[a.lower()].append(b)
word, out = "and", ["And"]
for _ in range(12):
    word = random.choice(chain.get(word.lower()) or words)
    out.append(word)
print(" ".join(out))
