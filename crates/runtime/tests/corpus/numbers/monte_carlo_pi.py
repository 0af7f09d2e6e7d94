import random
from concurrent.futures import ProcessPoolExecutor


def hits(args):
    seed, n = args
    rng = random.Random(seed)
    return sum(rng.random() ** 2 + rng.random() ** 2 <= 1 for _ in range(n))


if __name__ == "__main__":
    n, workers = 20_000, 4
    with ProcessPoolExecutor(workers) as pool:
        total = sum(pool.map(hits, [(seed, n) for seed in range(workers)]))
    print(f"pi is about {4 * total / (n * workers):.4f}")
