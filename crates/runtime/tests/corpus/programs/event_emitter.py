"""A small event system with weak subscribers, context managers and slots."""

import contextlib
from collections import defaultdict
from types import SimpleNamespace


class Emitter:
    def __init__(self):
        self._subscribers = defaultdict(list)

    def on(self, name):
        def register(f):
            self._subscribers[name].append(f)
            return f

        return register

    def emit(self, name, **data):
        event = SimpleNamespace(name=name, **data)
        for f in list(self._subscribers[name]):
            if f(event) is False:
                break
        return event

    @contextlib.contextmanager
    def subscribed(self, name, f):
        self._subscribers[name].append(f)
        try:
            yield
        finally:
            self._subscribers[name].remove(f)


bus = Emitter()


@bus.on("order")
def audit(event):
    print("audit", event)


@bus.on("order")
def stop_large(event):
    if event.amount > 100:
        print("blocked")
        return False


with contextlib.ExitStack() as stack:
    stack.enter_context(bus.subscribed("order", lambda e: print("shipped", e.amount)))
    stack.callback(print, "stack closed")
    bus.emit("order", amount=50)
    bus.emit("order", amount=500)
bus.emit("order", amount=1)
