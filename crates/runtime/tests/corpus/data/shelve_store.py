import shelve

with shelve.open("store") as db:
    db["config"] = {"theme": "dark", "size": 12}
    db["list"] = [1, 2]
with shelve.open("store", writeback=True) as db:
    db["list"].append(3)
with shelve.open("store", flag="r") as db:
    print(sorted(db.keys()), db["list"], db["config"]["theme"], db.get("none", "default"))
