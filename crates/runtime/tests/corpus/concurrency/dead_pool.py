from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
import os


def die():
    os._exit(1)


if __name__ == "__main__":
    with ProcessPoolExecutor(1) as pool:
        try:
            pool.submit(die).result()
        except BrokenProcessPool:
            print("the pool is broken")
