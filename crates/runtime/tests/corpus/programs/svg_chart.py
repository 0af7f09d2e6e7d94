# files: sales.csv
"""Draws a bar chart without any library: an SVG file and its text form."""

import collections
import csv
from xml.sax.saxutils import escape

totals = collections.Counter()
with open("sales.csv") as f:
    for row in csv.DictReader(f):
        totals[row["product"]] += int(row["units"])
top = max(totals.values())
bars = []
for i, (name, n) in enumerate(totals.most_common()):
    bars.append(f'<rect x="0" y="{i * 20}" width="{300 * n // top}" height="18"/><text y="{i * 20 + 14}">{escape(name)}</text>')
    print(f"{name:<10} {'█' * round(40 * n / top)} {n}")
with open("chart.svg", "w") as f:
    f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="320" height="{20 * len(bars)}">\n' + "\n".join(bars) + "\n</svg>\n")
print(open("chart.svg").read())
