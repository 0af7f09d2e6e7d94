# stdin: {"id": 1, "v": 10}\n{"id": 2, "v": 5}\nnot json\n{"id": 3, "v": 7}\n
import json
import sys

good, bad = [], 0
for line in sys.stdin:
    try:
        good.append(json.loads(line))
    except ValueError:
        bad += 1
        print("skipping bad line", file=sys.stderr)
json.dump({"sum": sum(r["v"] for r in good), "ids": [r["id"] for r in good], "bad": bad}, sys.stdout)
sys.stdout.write("\n")
