from multiprocessing import Manager, Process


def record(d, names, i):
    d[i] = i**3
    names.append(f"worker {i}")


if __name__ == "__main__":
    with Manager() as manager:
        d, names = manager.dict(), manager.list()
        jobs = [Process(target=record, args=(d, names, i)) for i in range(4)]
        for j in jobs:
            j.start()
        for j in jobs:
            j.join()
        print(sorted(d.items()))
        print(sorted(names))
