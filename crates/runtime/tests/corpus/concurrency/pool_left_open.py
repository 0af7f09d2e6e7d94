import multiprocessing
from concurrent.futures import ThreadPoolExecutor


def work(n):
    return n + 1


def report(n):
    print("from the process", n, flush=True)


# Nothing is closed or joined: the end of the program does it.
threads = ThreadPoolExecutor(2)
futures = [threads.submit(work, n) for n in range(3)]
pool = multiprocessing.Pool(2)
print(pool.map(work, [1, 2]), [f.result() for f in futures])
process = multiprocessing.Process(target=report, args=(7,))
print("end of the script", flush=True)
process.start()
