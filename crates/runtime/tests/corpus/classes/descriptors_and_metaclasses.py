class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name)

    def __set__(self, obj, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} must be positive, not {value}")
        setattr(obj, self.name, value)


class Registry(type):
    known = {}

    def __new__(mcs, name, bases, ns):
        cls = super().__new__(mcs, name, bases, ns)
        mcs.known[name.lower()] = cls
        return cls


class Plugin(metaclass=Registry):
    size = Positive()

    def __init_subclass__(cls, **kw):
        super().__init_subclass__()
        cls.options = kw

    def __getattr__(self, name):
        return f"<{name}?>"


class Csv(Plugin):
    pass


p = Csv()
p.size = 3
print(p.size, p.missing, sorted(Registry.known), Csv.options)
try:
    p.size = -1
except ValueError as e:
    print(e)
print(Csv.__mro__[1].__name__, type(Csv).__name__, Csv.__module__)
