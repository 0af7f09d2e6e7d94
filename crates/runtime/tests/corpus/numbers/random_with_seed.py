import random

random.seed(42)
print(random.random(), random.randint(1, 6), random.choice("abcdef"))
deck = list(range(10))
random.shuffle(deck)
print(deck, random.sample(range(100), 5), random.choices(["h", "t"], weights=[3, 1], k=6))
print(round(random.gauss(0, 1), 9), round(random.expovariate(1.5), 9))
r = random.Random("text seed")
print([r.randrange(1000) for _ in range(4)], r.getrandbits(64))
state = random.getstate()
a = random.random()
random.setstate(state)
print(a == random.random(), 0 <= random.SystemRandom().random() < 1)
