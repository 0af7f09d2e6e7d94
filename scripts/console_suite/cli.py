"""Starts a server and Chromium, and goes through what is claimed of the console."""

from __future__ import annotations

import argparse
import queue
import sys
import time
from pathlib import Path

from .attacks import ATTACKS
from .browser import Failed, program
from .claims import CLAIMS
from .world import World


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test-console", description=__doc__)
    parser.add_argument("belljar", help="the program to test")
    parser.add_argument("--pictures", type=Path, default=Path("target/console"), help="where screenshots go")
    parser.add_argument("--only", default="", metavar="TEXT", help="only claims with this in their name")
    options = parser.parse_args()
    chromium = program()
    if not chromium:
        sys.exit("console: no Chromium here: install it (Debian: chromium), or set CHROMIUM to a program")
    chosen = [claim for claim in CLAIMS + ATTACKS if options.only in claim.__name__]
    world = World(options.belljar, chromium, options.pictures)
    failures = 0
    try:
        for claim in chosen:
            begun = time.monotonic()
            try:
                claim(world)
                verdict = "ok"
            except (Failed, queue.Empty) as error:
                failures += 1
                verdict = f"FAILED: {error or 'the browser does not answer'}"
            print(f"console: {claim.__name__}: {verdict} ({time.monotonic() - begun:.1f} s)", flush=True)
    finally:
        world.close()
    print(
        f"console: {len(chosen) - failures} of {len(chosen)} claims hold; pictures are in {options.pictures}"
    )
    return 1 if failures else 0
