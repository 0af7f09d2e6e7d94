class Node:
    __slots__ = ("value", "left", "right")

    def __init__(self, value):
        self.value, self.left, self.right = value, None, None


class BST:
    def __init__(self, values=()):
        self.root, self.size = None, 0
        for v in values:
            self.insert(v)

    def insert(self, value):
        parent, node = None, self.root
        while node:
            parent, node = node, node.left if value < node.value else node.right
        new = Node(value)
        if parent is None:
            self.root = new
        elif value < parent.value:
            parent.left = new
        else:
            parent.right = new
        self.size += 1

    def __iter__(self):
        def walk(n):
            if n:
                yield from walk(n.left)
                yield n.value
                yield from walk(n.right)

        return walk(self.root)

    def __len__(self):
        return self.size

    def __contains__(self, v):
        return any(x == v for x in self)


t = BST([5, 2, 8, 1, 9, 3])
print(list(t), len(t), 8 in t, 7 in t)
try:
    Node(1).color = "red"
except AttributeError as e:
    print("AttributeError:", e)
