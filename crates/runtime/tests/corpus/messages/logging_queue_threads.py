import logging
import logging.handlers
import queue
import threading


class Collect(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.threadName}: {record.getMessage()}")


q, sink = queue.Queue(), Collect()
listener = logging.handlers.QueueListener(q, sink)
log = logging.getLogger("threads")
log.setLevel(logging.INFO)
log.propagate = False
log.addHandler(logging.handlers.QueueHandler(q))
listener.start()
ts = [threading.Thread(target=log.info, args=("hello %d", i), name=f"t{i}") for i in range(3)]
for t in ts:
    t.start()
    t.join()
listener.stop()
print(sink.lines)
