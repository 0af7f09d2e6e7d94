# args: power 2 10
"""Dispatches to a function of this module by name."""

import inspect
import sys


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def power(base: int, exponent: int = 2) -> int:
    """Raises to a power."""
    return base**exponent


def main():
    commands = {
        name: f
        for name, f in globals().items()
        if inspect.isfunction(f) and f.__module__ == "__main__" and name != "main"
    }
    print("commands:", ", ".join(sorted(commands)))
    name, *rest = sys.argv[1:]
    function = commands[name]
    hints = inspect.signature(function).parameters
    values = [p.annotation(v) for p, v in zip(hints.values(), rest)]
    print(f"{name}{inspect.signature(function)} -> {function(*values)}")


if __name__ == "__main__":
    main()
