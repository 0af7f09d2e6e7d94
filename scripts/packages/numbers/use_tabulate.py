# uses: a Markdown table
# expect: | name   |   n | / |:-------|----:| / | a      |   1 | / | b      |  22 |
from tabulate import tabulate

print(tabulate([["a", 1], ["b", 22]], headers=["name", "n"], tablefmt="pipe").replace("\n", " / "))
