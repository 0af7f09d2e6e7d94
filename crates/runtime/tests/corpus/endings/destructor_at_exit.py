"""What every tutorial on classes shows: destructors run when the program ends."""

LOG = []


class Resource:
    open_count = 0

    def __init__(self, name):
        self.name = name
        Resource.open_count += 1
        print("open", name)

    def __del__(self):
        Resource.open_count -= 1
        LOG.append(self.name)
        print("close", self.name, Resource.open_count, len(LOG))


a = Resource("a")
b = Resource("b")
del a
c = {"nested": [Resource("c")]}
print("end of program")
