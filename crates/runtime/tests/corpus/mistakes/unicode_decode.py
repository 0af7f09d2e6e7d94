from pathlib import Path

Path("latin.txt").write_bytes("café crème".encode("latin-1"))
try:
    print(Path("latin.txt").read_text(encoding="utf-8"))
except UnicodeDecodeError as e:
    print(e.reason, e.start, e.object[e.start : e.end])
print(Path("latin.txt").read_text(encoding="latin-1"))
print(Path("latin.txt").read_text(encoding="utf-8", errors="replace"))
