"""The command: what to run, in which order, and where the results are kept."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from . import modules, report
from .sides import PYTHON, Sides

PACKAGE = "libpython3.11-testsuite"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/compatibility", description=__doc__)
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="such as test_os; all that make sense when left out"
    )
    parser.add_argument(
        "--belljar", default=ROOT / "target/release/belljar", type=pathlib.Path, help="the command to test"
    )
    parser.add_argument("--timeout", default=500, type=int, metavar="SECS", help="for one module on one side")
    parser.add_argument("--jobs", default=2, type=int, metavar="N", help="modules at a time")
    parser.add_argument("--side", choices=["outside", "inside"], help="only one of them")
    parser.add_argument("--again", action="store_true", help="also run what the results file has already")
    parser.add_argument(
        "--details", action="store_true", help="every difference with the message of the test"
    )
    parser.add_argument("--report", action="store_true", help="run nothing, show what is known")
    default = pathlib.Path(tempfile.gettempdir()) / f"belljar-compatibility-{os.geteuid()}.jsonl"
    parser.add_argument(
        "--results",
        default=default,
        type=pathlib.Path,
        metavar="FILE",
        help="where a run is taken up again from",
    )
    return parser.parse_args()


def install():
    if modules.TESTS.joinpath("test_os.py").exists():
        return
    if os.geteuid() != 0:
        sys.exit(f"the package {PACKAGE} is missing; run this once as root, or install it")
    subprocess.run(["apt-get", "install", "--yes", "--quiet", PACKAGE], check=True)


def read(path):
    """What is known: by module, by side. A later line stands for an earlier one; half a line at the end is an interrupted run's."""
    results = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        results.setdefault(entry["module"], {})[entry["side"]] = entry["result"]
    return results


def run(asked, wanted, results):
    sides, lock = Sides(asked.belljar, asked.timeout), threading.Lock()

    def one(module, side):
        result = getattr(sides, side)(module)
        with lock:
            results.setdefault(module, {})[side] = result
            file.write(json.dumps({"module": module, "side": side, "result": result}) + "\n")
            file.flush()
            print(f"{side:8} {module}: {report.outcome(result)}", file=sys.stderr)

    todo = [
        (module, side)
        for module in wanted
        for side in ([asked.side] if asked.side else ["outside", "inside"])
        if asked.again or side not in results.get(module, {})
    ]
    with open(asked.results, "a") as file, concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        waiting = [pool.submit(one, *each) for each in todo]
        try:
            for each in waiting:
                each.result()
        except KeyboardInterrupt:
            # What is on its way is bounded by its own time limit; what is not begun is left for the
            # next run.
            pool.shutdown(wait=True, cancel_futures=True)
            sys.exit(130)
        finally:
            sides.close()


def main():
    asked = arguments()
    results = read(asked.results)
    wanted = asked.modules
    if not asked.report:
        install()
        for needed in (asked.belljar, pathlib.Path(PYTHON)):
            if not needed.exists():
                sys.exit(f"{needed} is missing")
        wanted = wanted or modules.names()
        run(asked, wanted, results)
    shown = {module: results[module] for module in sorted(wanted or results) if module in results}
    for line in report.table(shown, everything=not asked.report):
        print(line)
    print()
    for line in report.totals(shown):
        print(line)
    for line in report.details(shown) if asked.details else ():
        print(line)
    return 0
