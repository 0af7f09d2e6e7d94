import glob
from pathlib import Path

for name in ["a.txt", "b.txt", "c.md", "sub/d.txt", "sub/deep/e.txt", ".hidden.txt"]:
    p = Path(name)
    p.parent.mkdir(parents=True, exist_ok=True)
    p.touch()
print(sorted(glob.glob("*.txt")))
print(sorted(glob.glob("**/*.txt", recursive=True)))
print(sorted(str(p) for p in Path(".").rglob("*.txt")))
print(sorted(glob.glob("[ab].*")))
print(Path("sub/deep/e.txt").match("deep/*.txt"))
