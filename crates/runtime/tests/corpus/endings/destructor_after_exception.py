import sys


class Guard:
    def __del__(self):
        print("guard released", file=sys.stdout)


def work():
    guard = Guard()
    raise RuntimeError("while guarded")


keep = Guard()
work()
