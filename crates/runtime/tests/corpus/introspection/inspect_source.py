import inspect


def example(a, b=2, *args, c: int = 3, **kwargs) -> bool:
    """Docstring."""
    # a comment
    return a > b


class Thing:
    def method(self):
        return 1


print(inspect.getsource(example))
print(inspect.signature(example), inspect.getdoc(example), inspect.getcomments(Thing))
print(inspect.getsourcelines(Thing.method)[1], inspect.getfile(Thing) == __file__)
print(inspect.getmembers(Thing, inspect.isfunction)[0][0], inspect.getmodule(example).__name__)
frame = inspect.currentframe()
print(frame.f_lineno, frame.f_code.co_name, frame.f_globals is globals())
