import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor


def double(x):
    return 2 * x


if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=mp.get_context("forkserver")) as ex:
        print(list(ex.map(double, range(5))))
