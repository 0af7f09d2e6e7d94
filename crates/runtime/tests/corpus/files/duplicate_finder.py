import hashlib
import os
from collections import defaultdict

os.makedirs("photos/old", exist_ok=True)
for name, content in {"a.jpg": b"1" * 50, "b.jpg": b"2" * 50, "old/a_copy.jpg": b"1" * 50, "c.jpg": b"3"}.items():
    with open(os.path.join("photos", name), "wb") as f:
        f.write(content)


def file_hash(path, chunk=16):
    h = hashlib.sha1()
    with open(path, "rb") as f:
        while block := f.read(chunk):
            h.update(block)
    return h.hexdigest()


groups = defaultdict(list)
for root, _, files in os.walk("photos"):
    for f in files:
        p = os.path.join(root, f)
        groups[file_hash(p)].append(p)
for digest, paths in sorted(groups.items()):
    if len(paths) > 1:
        print(digest[:8], sorted(paths))
print(len(groups), "unique")
