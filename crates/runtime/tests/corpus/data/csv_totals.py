# files: sales.csv
import csv
from collections import defaultdict

totals = defaultdict(float)
with open("sales.csv", newline="") as f:
    for row in csv.DictReader(f):
        totals[row["region"]] += int(row["units"]) * float(row["price"])
for region in sorted(totals, key=totals.get, reverse=True):
    print(f"{region:<6} {totals[region]:>10.2f}")
