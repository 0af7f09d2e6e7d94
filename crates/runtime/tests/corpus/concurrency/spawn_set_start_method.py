import multiprocessing

COUNT = 0


def child(q):
    q.put((COUNT, __name__))


def main():
    global COUNT
    COUNT = 5
    multiprocessing.set_start_method("spawn")
    q = multiprocessing.Queue()
    p = multiprocessing.Process(target=child, args=(q,))
    p.start()
    print("child saw", q.get(timeout=60))
    p.join()


if __name__ == "__main__":
    main()
