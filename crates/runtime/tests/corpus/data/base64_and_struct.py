import base64
import binascii
import struct

raw = bytes(range(0, 250, 7))
print(base64.b64encode(raw).decode())
print(base64.urlsafe_b64encode(raw[-6:]).decode(), base64.b32encode(b"hi").decode(), base64.b85encode(b"hello").decode())
print(binascii.hexlify(raw[:5], "-").decode(), binascii.crc32(raw))
header = struct.pack(">4sHIq?", b"MAGI", 513, 70000, -5, True)
print(header.hex(), struct.unpack(">4sHIq?", header))
print([x for x in struct.iter_unpack("<H", b"\x01\x00\x02\x00")])
try:
    base64.b64decode("abc")
except binascii.Error as e:
    print("binascii.Error:", e)
try:
    struct.unpack("<I", b"abc")
except struct.error as e:
    print("struct.error:", e)
