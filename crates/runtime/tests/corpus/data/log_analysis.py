# files: access.log
"""Summarise an access log, as every tutorial does."""

import re
from collections import Counter

LINE = re.compile(r'^(?P<ip>\S+) \S+ \S+ \[(?P<when>[^\]]+)\] "(?P<method>\w+) (?P<path>\S+) [^"]*" (?P<status>\d{3}) (?P<size>\d+)$')

statuses, ips, size, bad = Counter(), Counter(), 0, []
with open("access.log") as log:
    for n, line in enumerate(log, 1):
        m = LINE.match(line.rstrip())
        if not m:
            bad.append(n)
            continue
        statuses[m["status"]] += 1
        ips[m["ip"]] += 1
        size += int(m["size"])
print(dict(sorted(statuses.items())))
print(ips.most_common(2), size, bad)
