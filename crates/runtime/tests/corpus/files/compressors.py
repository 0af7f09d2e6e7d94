import bz2
import lzma
import zlib

data = ("the quick brown fox " * 50).encode()
for module in (zlib, bz2, lzma):
    packed = module.compress(data)
    print(module.__name__, len(packed) < len(data) // 4, module.decompress(packed) == data)
d = zlib.decompressobj()
print(d.decompress(zlib.compress(data), 20), len(d.unconsumed_tail) > 0)
print(zlib.crc32(data), zlib.adler32(data))
try:
    zlib.decompress(b"broken")
except zlib.error as e:
    print("zlib.error:", e)
