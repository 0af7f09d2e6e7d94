"""All faults, one after the other, and the report."""

import argparse
import collections
import os
import shutil
import sys
import time

from . import faults, trial


def main():
    parser = argparse.ArgumentParser(
        description="Run belljar while its system calls fail (as root, with strace and cgroup v1)"
    )
    parser.add_argument("--binary", default="target/release/belljar")
    parser.add_argument("--only", metavar="TEXT", help="only faults that contain this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth fault")
    parser.add_argument("--verbose", action="store_true", help="name each fault and its end")
    options = parser.parse_args()
    if not shutil.which("strace"):
        print("faults: skipped (strace is not installed)")
        return 0
    if os.geteuid() != 0:
        print("faults: skipped (only root can look for what is left in a group of its own)")
        return 0
    command = [os.path.abspath(options.binary), "run", "-"]
    counts = faults.calls_of(command, trial.SCRIPT)
    todo = [fault for fault in faults.all_faults(counts) if not options.only or options.only in fault][
        :: options.every
    ]
    print(f"{len(counts)} kinds of calls, {len(todo)} faults")
    begun, ends, bad = time.monotonic(), collections.Counter(), []
    for number, fault in enumerate(todo):
        with trial.Group(f"faults-{os.getpid()}-{number}") as group:
            done = trial.run(command, fault, group)
        ends[done.code] += 1
        if done.complaints:
            bad.append(done)
            print(f"{fault}: {'; '.join(done.complaints)}\n    {done.stderr.strip()[-300:]}", flush=True)
        elif options.verbose:
            print(f"{fault}: {done.code} {done.stderr.strip()[-160:]}", flush=True)
    print(
        f"{len(todo)} faults in {time.monotonic() - begun:.0f} s: exit codes {dict(ends)}, {len(bad)} complaints"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
