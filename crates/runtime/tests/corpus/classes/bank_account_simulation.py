"""The account that every course has."""


class InsufficientFunds(Exception):
    def __init__(self, needed, available):
        super().__init__(f"need {needed}, have {available}")
        self.needed = needed


class Account:
    interest = 0.02

    def __init__(self, owner, balance=0):
        self.owner = owner
        self.__balance = balance
        self.history = []

    @property
    def balance(self):
        return self.__balance

    def withdraw(self, amount):
        if amount > self.__balance:
            raise InsufficientFunds(amount, self.__balance)
        self.__balance -= amount
        self.history.append(("withdraw", amount))

    @classmethod
    def from_text(cls, text):
        owner, balance = text.split(":")
        return cls(owner, int(balance))


if __name__ == "__main__":
    acc = Account.from_text("Ada:100")
    acc.withdraw(30)
    print(acc.owner, acc.balance, acc.history, acc._Account__balance)
    try:
        acc.balance = 1_000_000
    except AttributeError:
        print("no cheating")
    acc.withdraw(500)
