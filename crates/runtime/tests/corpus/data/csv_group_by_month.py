# files: sales.csv
# args: --file sales.csv --product Widget
import argparse
import csv
from datetime import datetime
from itertools import groupby
from operator import itemgetter


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", required=True)
    parser.add_argument("--product")
    args = parser.parse_args()
    with open(args.file) as handle:
        rows = [r for r in csv.DictReader(handle) if not args.product or r["product"] == args.product]
    for row in rows:
        row["month"] = datetime.strptime(row["date"], "%Y-%m-%d").strftime("%b %Y")
    rows.sort(key=itemgetter("date"))
    for month, group in groupby(rows, key=itemgetter("month")):
        group = list(group)
        print(month, len(group), sum(int(r["units"]) for r in group))


main()
