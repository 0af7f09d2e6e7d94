# args: --quick
"""Tests without a framework: functions called test_*, run by hand."""

import sys
import traceback


def test_upper():
    assert "foo".upper() == "FOO"


def test_split():
    assert "a b".split() == ["a", "b"]


def test_wrong():
    assert sum([1, 2]) == 4, "sum is off"


failures = 0
for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        try:
            test()
            print("PASS", name)
        except AssertionError:
            failures += 1
            print("FAIL", name, traceback.format_exc().splitlines()[-1])
print(f"{failures} failed, quick={'--quick' in sys.argv}")
sys.exit(1 if failures else 0)
