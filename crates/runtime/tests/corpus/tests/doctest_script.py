"""
Numbers.

>>> double(4)
8
>>> double("ab")
'abab'
>>> double(None)
Traceback (most recent call last):
    ...
TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'
"""

import doctest


def double(x):
    """
    >>> [double(i) for i in range(3)]
    [0, 2, 4]
    """
    return x * 2


if __name__ == "__main__":
    print(doctest.testmod())
