import pickle


class Account:
    def __init__(self, owner, balance):
        self.owner, self.balance = owner, balance
        self._cache = object()

    def __getstate__(self):
        return {"owner": self.owner, "balance": self.balance}

    def __eq__(self, other):
        return (self.owner, self.balance) == (other.owner, other.balance)


a = Account("ada", 10)
with open("a.pickle", "wb") as f:
    pickle.dump([a, a], f)
with open("a.pickle", "rb") as f:
    x, y = pickle.load(f)
print(x == a, x is y, hasattr(x, "_cache"), type(x).__module__, type(x).__qualname__)
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    assert pickle.loads(pickle.dumps(a, protocol)) == a
try:
    pickle.dumps(lambda: 1)
except Exception as e:
    print(type(e).__name__, "__main__" in str(e))
