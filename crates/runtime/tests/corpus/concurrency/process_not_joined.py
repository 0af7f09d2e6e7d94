import multiprocessing


def report(path):
    with open(path, "w") as f:
        f.write("written by a process that nobody joined")
    print("process done", flush=True)


if __name__ == "__main__":
    print("starting", flush=True)
    multiprocessing.Process(target=report, args=("out.txt",)).start()
    # Python joins it before it ends.
