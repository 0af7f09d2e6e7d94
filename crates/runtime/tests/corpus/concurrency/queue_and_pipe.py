import multiprocessing


def worker(tasks, results):
    for n in iter(tasks.get, None):
        results.put((n, n * 2))


def ponger(conn):
    while (message := conn.recv()) != "stop":
        conn.send(message + " pong")
    conn.close()


if __name__ == "__main__":
    tasks, results = multiprocessing.Queue(), multiprocessing.Queue()
    ps = [multiprocessing.Process(target=worker, args=(tasks, results)) for _ in range(2)]
    for p in ps:
        p.start()
    for n in range(6):
        tasks.put(n)
    for _ in ps:
        tasks.put(None)
    print(sorted(results.get() for _ in range(6)))
    for p in ps:
        p.join()
    ours, theirs = multiprocessing.Pipe()
    p = multiprocessing.Process(target=ponger, args=(theirs,))
    p.start()
    ours.send("ping")
    print(ours.recv())
    ours.send("stop")
    p.join()
