from concurrent.futures import ProcessPoolExecutor
import math

PRIMES = [112272535095293, 112582705942171, 1099726899285419, 15]


def is_prime(n):
    if n % 2 == 0:
        return False
    for i in range(3, min(math.isqrt(n), 20_000) + 1, 2):
        if n % i == 0:
            return False
    return True


def main():
    with ProcessPoolExecutor(max_workers=2) as executor:
        for number, prime in zip(PRIMES, executor.map(is_prime, PRIMES)):
            print("%d is prime: %s" % (number, prime))


if __name__ == "__main__":
    main()
