"""Docstring of the script."""
import sys

import __main__

VALUE = 5
print(__main__.VALUE, sys.modules["__main__"] is __main__, __main__.__doc__)
print(__name__, __package__, __spec__, __main__.__file__ == __file__)
print(repr(type(__loader__).__name__ if __loader__ is not None else None) != "")
print(__annotations__)
total: int = 3
print(__annotations__)
