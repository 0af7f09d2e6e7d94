# args: sales.csv -
# files: sales.csv
# stdin: from stdin\nsecond line\n
import argparse
import sys

parser = argparse.ArgumentParser()
parser.add_argument("infile", type=argparse.FileType("r", encoding="utf-8"))
parser.add_argument("other", nargs="?", type=argparse.FileType("r"), default=sys.stdin)
ns = parser.parse_args()
print(ns.infile.name, sum(1 for _ in ns.infile), "lines")
print(ns.other.name, ns.other.read().splitlines())
