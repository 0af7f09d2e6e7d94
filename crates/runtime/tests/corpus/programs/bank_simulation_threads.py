import random
import threading
from concurrent.futures import ThreadPoolExecutor


class Bank:
    def __init__(self, accounts):
        self.balances = {a: 1000 for a in range(accounts)}
        self.locks = {a: threading.Lock() for a in self.balances}

    def transfer(self, source, target, amount):
        if source == target:
            return False
        first, second = sorted((source, target))
        with self.locks[first], self.locks[second]:
            if self.balances[source] < amount:
                return False
            self.balances[source] -= amount
            self.balances[target] += amount
            return True


bank = Bank(5)


def customer(seed):
    rng = random.Random(seed)
    for _ in range(200):
        bank.transfer(rng.randrange(5), rng.randrange(5), rng.randrange(1, 300))


with ThreadPoolExecutor(8) as pool:
    list(pool.map(customer, range(8)))
print("total", sum(bank.balances.values()), "negative:", any(b < 0 for b in bank.balances.values()))
