import multiprocessing

_state = {}


def init(base):
    _state["base"] = base


def add(x):
    return _state["base"] + x


def boom(x):
    raise ValueError(f"no {x}")


if __name__ == "__main__":
    with multiprocessing.Pool(2, initializer=init, initargs=(100,), maxtasksperchild=2) as pool:
        print(pool.map(add, range(6), chunksize=1))
        try:
            pool.map(boom, [1])
        except ValueError as e:
            print("ValueError:", e, type(e.__cause__).__name__)
    print(_state)
