"""Makes the image, goes through the claims, and removes everything that was made."""

from __future__ import annotations

import argparse
import sys
import time
from http.client import HTTPException
from pathlib import Path

from .client import Failed
from .endings import ENDINGS
from .grants import GRANTS
from .image import Image
from .proxy import PROXIES
from .tls import TLS


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test-deploy", description=__doc__)
    parser.add_argument("belljar", type=Path, help="the program that the image is made of")
    parser.add_argument("--only", default="", metavar="TEXT", help="only claims with this in their name")
    options = parser.parse_args()
    chosen = [claim for claim in GRANTS + ENDINGS + TLS + PROXIES if options.only in claim.__name__]
    failures, image = 0, Image()
    try:
        image.make(options.belljar)
        for claim in chosen:
            begun = time.monotonic()
            try:
                claim(image)
                verdict = "ok"
            except (Failed, OSError, HTTPException, LookupError, StopIteration) as error:
                failures += 1
                verdict = f"FAILED: {error or type(error).__name__}"
            finally:
                image.remove_containers()
            print(f"deploy: {claim.__name__}: {verdict} ({time.monotonic() - begun:.1f} s)", flush=True)
    finally:
        left = image.remove()
    if left:
        print(f"deploy: FAILED: these are left on the daemon: {left}")
    print(f"deploy: {len(chosen) - failures} of {len(chosen)} claims hold")
    return 1 if failures or left or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
