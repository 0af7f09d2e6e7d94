"""A package of plugins, each with a `run` function."""

registry = {}


def register(name):
    def wrap(function):
        registry[name] = function
        return function

    return wrap
