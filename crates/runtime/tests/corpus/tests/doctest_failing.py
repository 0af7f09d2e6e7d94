"""
>>> 1 + 1
3
"""

import doctest
import sys

failed, attempted = doctest.testmod(report=False)
print(failed, "of", attempted, "failed")
sys.exit(failed)
