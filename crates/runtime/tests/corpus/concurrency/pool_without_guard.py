from multiprocessing import Pool


def square(x):
    return x * x


with Pool(3) as pool:
    print(pool.map(square, range(8)))
    print(sorted(pool.imap_unordered(square, range(4))))
    print(pool.apply_async(square, (12,)).get(timeout=20))
    print(pool.starmap(pow, [(2, 3), (3, 2)]))
