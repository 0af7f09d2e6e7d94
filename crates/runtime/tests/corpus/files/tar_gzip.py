import gzip
import io
import os
import tarfile

os.makedirs("pack/inner")
for name in ("pack/one.txt", "pack/inner/two.txt"):
    with open(name, "w") as f:
        f.write(name * 2)


def anonymous(member):
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = "root"
    return member


with tarfile.open("pack.tar.gz", "w:gz") as t:
    t.add("pack", filter=anonymous)
    info = tarfile.TarInfo("memo.txt")
    info.size = 5
    t.addfile(info, io.BytesIO(b"hello"))
with tarfile.open("pack.tar.gz") as t:
    print(sorted(t.getnames()))
    print(t.extractfile("memo.txt").read())
    t.extractall("restored")
print(open("restored/pack/inner/two.txt").read())
with gzip.open("log.gz", "wt") as g:
    g.write("compressed\n" * 50)
with gzip.open("log.gz", "rt") as g:
    print(sum(1 for _ in g), os.path.getsize("log.gz") < 100)
