import multiprocessing as mp


class Worker(mp.Process):
    def __init__(self, inbox, outbox, stopped):
        super().__init__(daemon=True)
        self.inbox, self.outbox, self.stopped = inbox, outbox, stopped

    def run(self):
        while (item := self.inbox.get()) is not None:
            self.outbox.put(item.upper())
        self.stopped.set()


if __name__ == "__main__":
    inbox, outbox, stopped = mp.SimpleQueue(), mp.SimpleQueue(), mp.Event()
    w = Worker(inbox, outbox, stopped)
    w.start()
    for word in ("alpha", "beta"):
        inbox.put(word)
        print(outbox.get(), stopped.is_set())
    inbox.put(None)
    print(stopped.wait(20))
    w.join(20)
    print(w.exitcode, mp.current_process().name, mp.parent_process(), mp.active_children())
