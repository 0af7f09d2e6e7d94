import sys

from . import __version__
from .stats import mean

print("toolkit", __version__)
print("mean", mean([float(x) for x in sys.argv[1:]] or [1, 2, 3]))
