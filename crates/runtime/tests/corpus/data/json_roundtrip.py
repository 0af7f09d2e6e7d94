# files: inventory.json
import json

with open("inventory.json") as f:
    data = json.load(f)
data["items"] = [i for i in data["items"] if i["qty"]]
data["total"] = sum(i["qty"] for i in data["items"])
with open("out.json", "w") as f:
    json.dump(data, f, indent=2, sort_keys=True)
print(open("out.json").read())
print(json.dumps({"é": [1.0, None, True, float("inf")]}, ensure_ascii=False))
try:
    json.loads("{'single': 1}")
except json.JSONDecodeError as e:
    print(e.msg, e.lineno, e.colno)
