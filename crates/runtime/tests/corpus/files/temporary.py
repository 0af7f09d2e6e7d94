import os
import tempfile

with tempfile.TemporaryDirectory(prefix="demo-") as folder:
    inside = os.path.join(folder, "x.txt")
    with open(inside, "w") as f:
        f.write("temp")
    print(os.path.basename(folder).startswith("demo-"), os.listdir(folder))
print(os.path.exists(folder))

with tempfile.NamedTemporaryFile("w+", suffix=".log", delete=False) as f:
    f.write("line\n" * 3)
    f.seek(0)
    print(len(f.readlines()), f.name.endswith(".log"))
os.unlink(f.name)

with tempfile.SpooledTemporaryFile(max_size=10) as s:
    s.write(b"0123456789abc")
    s.seek(3)
    print(s.read())
print(os.path.isdir(tempfile.gettempdir()))
