import hashlib
import hmac
import secrets
import uuid
import zlib

data = b"The quick brown fox jumps over the lazy dog"
for name in ("md5", "sha1", "sha256", "sha3_256", "blake2b"):
    print(name, hashlib.new(name, data).hexdigest()[:24])
print(hmac.new(b"key", data, "sha256").hexdigest()[:24], hmac.compare_digest("a", "b"))
print(hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1000).hex()[:24])
print(hashlib.scrypt(b"pw", salt=b"s", n=16, r=8, p=1).hex()[:24])
token = secrets.token_hex(16)
print(len(token), token != secrets.token_hex(16), secrets.randbelow(1), len(secrets.token_urlsafe(9)))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"), uuid.uuid4().version, zlib.crc32(data))
print(sorted(hashlib.algorithms_guaranteed)[:3])
