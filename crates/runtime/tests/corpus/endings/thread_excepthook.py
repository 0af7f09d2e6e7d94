import threading

seen = []


def hook(args):
    seen.append((args.exc_type.__name__, str(args.exc_value), args.thread.name))


threading.excepthook = hook


def worker():
    raise ValueError("bad input")


t = threading.Thread(target=worker, name="worker-1")
t.start()
t.join()
print(seen)
