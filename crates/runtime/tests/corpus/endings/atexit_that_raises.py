import atexit


def bad():
    raise ValueError("in atexit")


atexit.register(print, "registered first, runs last")
atexit.register(bad)
print("body")
