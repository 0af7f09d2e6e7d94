# args: --top 3 --min-length 4 poem.txt
# files: poem.txt
#!/usr/bin/env python3
"""Print the most frequent words of a file."""

import argparse
import logging
import re
import sys
from collections import Counter
from pathlib import Path

logger = logging.getLogger(__name__)


def parse_args(argv=None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--min-length", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    return parser.parse_args(argv)


def main(argv=None) -> int:
    args = parse_args(argv)
    logging.basicConfig(level=logging.DEBUG if args.verbose else logging.INFO)
    if not args.path.exists():
        logger.error("no such file: %s", args.path)
        return 1
    words = re.findall(r"[a-z']+", args.path.read_text(encoding="utf-8").lower())
    counts = Counter(w for w in words if len(w) >= args.min_length)
    logger.info("%d words", len(words))
    for word, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[: args.top]:
        print(f"{n:>4} {word}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
