"""
>>> 1 + 1
3
>>> undefined_name
1
"""

import contextlib
import doctest
import io
import sys

report = io.StringIO()
with contextlib.redirect_stdout(report):
    failed, attempted = doctest.testmod()
for line in report.getvalue().splitlines():
    if not line.startswith(("File", "  ")):
        print(line)
print(failed, "of", attempted, "failed")
sys.exit(failed)
