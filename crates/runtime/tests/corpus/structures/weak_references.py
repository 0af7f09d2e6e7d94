import gc
import weakref


class Node:
    def __init__(self, name):
        self.name = name
        self.parent = None

    def __del__(self):
        print("deleted", self.name)


a = Node("a")
ref = weakref.ref(a, lambda r: print("callback"))
weakref.finalize(a, print, "finalized")
del a
print(ref())
x, y = Node("x"), Node("y")
x.parent, y.parent = y, x
del x, y
print("collected", gc.collect() >= 2)
cache = weakref.WeakValueDictionary()
n = cache["n"] = Node("n")
print(len(cache))
n = None
print(len(cache))
survivor = Node("survivor until the end")
