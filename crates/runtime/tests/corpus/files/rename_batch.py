import re
from pathlib import Path

names = ["IMG_001.JPG", "IMG_002.jpeg", "holiday (1).PNG", "notes.txt"]
for n in names:
    Path(n).write_text(n)

for p in sorted(Path(".").iterdir()):
    if p.suffix.lower() in {".jpg", ".jpeg", ".png"}:
        clean = re.sub(r"[^a-z0-9]+", "_", p.stem.lower()).strip("_")
        new = p.with_name(clean + p.suffix.lower().replace("jpeg", "jpg"))
        p.rename(new)
        print(f"{p.name} -> {new.name}")
print(sorted(p.name for p in Path(".").glob("*.jpg")))
