import struct

with open("records.bin", "wb") as f:
    for i in range(5):
        f.write(struct.pack("<I8sd", i, f"name{i}".encode(), i * 1.5))
size = struct.calcsize("<I8sd")
with open("records.bin", "rb+") as f:
    f.seek(3 * size)
    print(struct.unpack("<I8sd", f.read(size)), f.tell())
    f.seek(-size, 2)
    f.write(struct.pack("<I8sd", 99, b"changed", 0.0))
    f.seek(4 * size)
    print(struct.unpack("<I8sd", f.read(size)))
    f.truncate(2 * size)
with open("records.bin", "rb") as f:
    print(len(f.read()) // size)
