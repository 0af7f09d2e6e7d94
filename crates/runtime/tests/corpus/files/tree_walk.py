import os

for path in ("proj/src/app/main.py", "proj/src/app/util.py", "proj/tests/test_main.py", "proj/README"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("# " + path + "\n")

for root, dirs, files in os.walk("proj"):
    dirs.sort()
    level = root.count(os.sep)
    print("    " * level + os.path.basename(root) + "/")
    for name in sorted(files):
        size = os.path.getsize(os.path.join(root, name))
        print("    " * (level + 1) + f"{name} ({size})")
