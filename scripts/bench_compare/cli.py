"""The command line of `scripts/bench-compare`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

from . import report, venv
from .candidates import ALL, bench
from .channel import Failure
from .presence import Setting
from .rounds import REST_S, Comparison, note

ROOT = Path(__file__).resolve().parent.parent.parent
FULL = (5, 1.0)  # rounds, and the share of each candidate's usual number of jobs
QUICK = (3, 0.5)


def main() -> int:
    options = parse()
    if options.self_test:
        report.self_test()
        print("ok")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    undo_pyenv()
    if options.install:
        note("installing…")
        try:
            venv.install()
        except Failure as error:
            print(f"bench-compare: {error}", file=sys.stderr)
    python = interpreter(options.belljar)
    run = {
        "machine": report.machine(),
        "python": python,
        "job": 'a script whose result is {"a": 1}',
        "rest_ms": round(REST_S * 1000),
    }
    begun = time.monotonic()
    comparison = Comparison(
        [one() for one in ALL if one.name in options.only], Setting(options.belljar, python["path"])
    )
    rows = comparison.run(*(QUICK if options.quick else FULL))
    note("")
    run["rounds"] = comparison.rounds
    run["seconds"] = round(time.monotonic() - begun, 1)
    run["machine"]["load_after"] = round(os.getloadavg()[0], 2)
    if options.json:
        print(json.dumps(report.as_json(run, rows, comparison.absent)))
    else:
        print(report.as_text(run, rows, comparison.absent))
    return 1 if any(one.failed for one in comparison.absent) else 0


def parse() -> argparse.Namespace:
    names = [one.name for one in ALL]
    parser = argparse.ArgumentParser(
        prog="bench-compare",
        description="Runs one trivial job side by side in Belljar and in what a user would pick instead.",
    )
    parser.add_argument("--only", metavar="A,B", default=",".join(names), help=f"of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="fewer jobs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--install",
        action="store_true",
        help=f"put what comes from PyPI into {venv.python().parent.parent} first",
    )
    program = ROOT / "target/release/belljar"
    parser.add_argument("--belljar", metavar="FILE", type=Path, default=program, help="default: %(default)s")
    parser.add_argument("--self-test", action="store_true", help="check this script's arithmetic, and end")
    options = parser.parse_args()
    options.only = options.only.split(",")
    unknown = sorted(set(options.only) - set(names))
    if unknown:
        parser.error(f"no candidate {', '.join(unknown)}; there are {', '.join(names)}")
    return options


def undo_pyenv() -> None:
    """pyenv's stand-in for python3 puts its own folder first; Belljar is to find what it finds from the caller's shell."""
    versions = os.path.join(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(entry for entry in entries if not entry.startswith(versions))


def interpreter(belljar: Path) -> dict:
    """The CPython that Belljar picks, so that all run the same one; without Belljar, the one that runs this."""
    own = {"path": sys.executable, "version": "{}.{}.{}".format(*sys.version_info)}
    try:
        found = bench(str(belljar), 1)
        return {"path": found["python_path"], "version": found["python"]}
    except (OSError, Failure):
        return own
