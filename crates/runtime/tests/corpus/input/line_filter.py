# stdin-file: access.log
# args: 404|500
import re
import sys

pattern = re.compile(sys.argv[1])
shown = 0
for number, line in enumerate(sys.stdin, 1):
    if pattern.search(line):
        sys.stdout.write(f"{number}:{line}")
        shown += 1
sys.exit(0 if shown else 1)
