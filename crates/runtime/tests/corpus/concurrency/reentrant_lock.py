import threading


class Node:
    def __init__(self, name):
        self.name, self.lock, self.children = name, threading.RLock(), []

    def walk(self, depth=0):
        with self.lock, self.lock:
            yield "  " * depth + self.name
            for c in self.children:
                yield from c.walk(depth + 1)


root = Node("root")
for n in "ab":
    child = Node(n)
    child.children = [Node(n + str(i)) for i in range(2)]
    root.children.append(child)
result = []
t = threading.Thread(target=lambda: result.extend(root.walk()))
t.start()
t.join()
print("\n".join(result))
