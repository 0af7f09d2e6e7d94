import collections
import json
import socket
import threading


class LRU:
    def __init__(self, size):
        self.size, self.data = size, collections.OrderedDict()

    def get(self, key):
        if key not in self.data:
            return None
        self.data.move_to_end(key)
        return self.data[key]

    def put(self, key, value):
        self.data[key] = value
        self.data.move_to_end(key)
        if len(self.data) > self.size:
            return self.data.popitem(last=False)[0]
        return None


def serve(sock):
    cache = LRU(2)
    conn, _ = sock.accept()
    with conn, conn.makefile("rw") as f:
        for line in f:
            op, *args = json.loads(line)
            print(json.dumps(getattr(cache, op)(*args)), file=f, flush=True)


sock = socket.create_server(("", 0))
threading.Thread(target=serve, args=(sock,), daemon=True).start()
with socket.create_connection(("localhost", sock.getsockname()[1])) as c, c.makefile("rw") as f:
    for request in (["put", "a", 1], ["put", "b", 2], ["get", "a"], ["put", "c", 3], ["get", "b"]):
        print(json.dumps(request), file=f, flush=True)
        print(request, "->", json.loads(f.readline()))
