import mmap

with open("data.bin", "wb") as f:
    f.write(b"Hello Python!\n" * 3)
with open("data.bin", "r+b") as f:
    mm = mmap.mmap(f.fileno(), 0)
    print(mm.readline(), mm[:5], mm.find(b"Python"))
    mm[6:12] = b" world"
    mm.flush()
    mm.close()
print(open("data.bin", "rb").readline())
anonymous = mmap.mmap(-1, 4096)
anonymous.write(b"scratch")
anonymous.seek(0)
print(anonymous.read(7), len(anonymous))
