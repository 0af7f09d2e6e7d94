from pathlib import Path, PurePosixPath, PureWindowsPath

p = Path("reports") / "2024" / "summary.tar.gz"
print(p, p.name, p.stem, p.suffix, p.suffixes, p.parent, p.parts)
print(p.with_suffix(".zip"), p.with_name("other.txt"), p.is_absolute())
print(PurePosixPath("/a/b/c").relative_to("/a"), PureWindowsPath(r"C:\x\y.txt").drive)
p.parent.mkdir(parents=True)
p.write_bytes(b"\x00" * 10)
print(p.exists(), p.stat().st_size, [str(x) for x in sorted(Path("reports").rglob("*"))])
q = p.rename(p.with_name("renamed.gz"))
print(q.exists(), p.exists())
q.unlink()
q.parent.rmdir()
print(list(Path("reports").iterdir()))
