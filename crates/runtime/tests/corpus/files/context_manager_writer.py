import contextlib
import os


@contextlib.contextmanager
def atomic_write(path):
    tmp = path + ".tmp"
    try:
        with open(tmp, "w") as f:
            yield f
        os.replace(tmp, path)
    except BaseException:
        os.unlink(tmp)
        raise


with atomic_write("conf.txt") as f:
    f.write("version 1")
try:
    with atomic_write("conf.txt") as f:
        f.write("version 2, half")
        raise RuntimeError("crash")
except RuntimeError:
    pass
print(open("conf.txt").read(), os.path.exists("conf.txt.tmp"))
with contextlib.suppress(FileNotFoundError):
    os.remove("nothing")
print("done")
