# files: poem.txt inventory.json
from pathlib import Path

HERE = Path(__file__).resolve().parent
print(sorted(p.name for p in HERE.iterdir() if p.suffix in (".txt", ".json")))
print((HERE / "poem.txt").read_text().splitlines()[0])
print(Path(__file__).name, Path(__file__).suffix, Path.cwd() == HERE)
