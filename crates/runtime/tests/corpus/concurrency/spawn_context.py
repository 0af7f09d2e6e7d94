import multiprocessing as mp


def cube(x):
    return x**3


class Job:
    def __init__(self, n):
        self.n = n

    def __call__(self):
        return self.n + 1


def run(job, out):
    out.put(job())


if __name__ == "__main__":
    ctx = mp.get_context("spawn")
    with ctx.Pool(2) as pool:
        print(pool.map(cube, [1, 2, 3]))
    q = ctx.Queue()
    p = ctx.Process(target=run, args=(Job(41), q))
    p.start()
    print(q.get(timeout=60))
    p.join()
    print(p.exitcode)
