# Runs the tests of one module and reports on them. The same text runs on both sides, with MODULE
# set in a line in front: as `python3 -c` outside, as the script of a cell inside. It has no file on
# either side, so the module is `__main__` alike.
import importlib
import json
import sys
import unittest


class Report(unittest.TestResult):
    """Names of tests by outcome; each one's name is printed as it starts, so that a hang has a name."""

    def __init__(self):
        super().__init__()
        self.failed, self.skips = {}, {}

    def startTest(self, test):
        super().startTest(test)
        print(f"[starts] {test.id()}", flush=True)

    def fail(self, test, error):
        reason = str(error[1]).strip().splitlines() or [""]
        self.failed.setdefault(test.id(), f"{error[0].__name__}: {reason[0]}"[:300])

    def addFailure(self, test, error):
        self.fail(test, error)

    def addError(self, test, error):
        self.fail(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.fail(test, error)

    def addUnexpectedSuccess(self, test):
        self.failed.setdefault(test.id(), "unexpected success")

    def addSkip(self, test, reason):
        self.skips.setdefault(test.id(), str(reason)[:200])


def run_module():
    from test import support

    # As the standard library's own runner does it: tests that want the Internet, a display or
    # gigabytes skip themselves.
    support.use_resources = ["subprocess", "tzdata"]
    support.verbose = 0
    report = Report()
    try:
        module = importlib.import_module("test." + MODULE)
        if hasattr(module, "test_main"):
            # A few still choose and prepare their tests themselves; only who runs them is changed.
            support._run_suite = lambda suite: suite.run(report)
            module.test_main()
        else:
            unittest.defaultTestLoader.loadTestsFromModule(module).run(report)
    except unittest.SkipTest as reason:
        report.skips["test." + MODULE] = str(reason)
    return {"ran": report.testsRun, "failed": report.failed, "skipped": report.skips}


if __name__ == "__main__":
    # A child that a test forked may come back to here.
    import os

    owner = os.getpid()
    summary = run_module()
    if os.getpid() != owner:
        os._exit(0)
    if "emit_result" in globals():
        emit_result(summary)
    else:
        sys.stdout.flush()
        os.write(1, b"\n[summary] " + json.dumps(summary).encode() + b"\n")
