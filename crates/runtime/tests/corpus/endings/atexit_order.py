import atexit


@atexit.register
def last():
    print("last")


def goodbye(name, adjective):
    print(f"Goodbye {name}, it was {adjective} to meet you.")


atexit.register(goodbye, "Ada", adjective="nice")
atexit.unregister(print)
print("main is done")
