# uses: workers as processes and as threads, memory on disk, compressed files
# expect: [0, 1, 4, 9] [0, 1, 8, 27] 1 [1, 2, 3] True
import os

from joblib import Memory, Parallel, delayed, dump, load

calls = []
memory = Memory("kept", verbose=0)


@memory.cache
def slow(x):
    calls.append(x)
    return x + 1


processes = Parallel(n_jobs=2)(delayed(pow)(i, 2) for i in range(4))
threads = Parallel(n_jobs=2, prefer="threads")(delayed(pow)(i, 3) for i in range(4))
others = set(Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(4)))
slow(1), slow(1)
dump([1, 2, 3], "list.gz", compress=3)
print(processes, threads, len(calls), load("list.gz"), os.getpid() not in others)
