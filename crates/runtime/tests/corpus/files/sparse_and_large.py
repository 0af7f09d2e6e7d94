# differs (native as user): without control groups a file may be as large as memory_mb
import os

with open("sparse.bin", "wb") as f:
    f.seek(1 << 30)
    f.write(b"x")
st = os.stat("sparse.bin")
print(st.st_size, st.st_blocks * 512 < 1 << 20)
os.remove("sparse.bin")
with open("ten.bin", "wb") as f:
    for _ in range(10):
        f.write(bytes(1 << 20))
    f.flush()
    os.fsync(f.fileno())
print(os.path.getsize("ten.bin") >> 20)
