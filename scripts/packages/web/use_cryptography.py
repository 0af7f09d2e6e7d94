# uses: symmetric encryption, RSA signatures, a certificate, a key from a password
# expect: b'secret' True InvalidSignature CN=belljar 32
from datetime import datetime, timedelta, timezone

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

box = Fernet(Fernet.generate_key())
key = rsa.generate_private_key(65537, 2048)
how = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH), hashes.SHA256()
signature = key.sign(b"text", *how)
try:
    key.public_key().verify(signature, b"other", *how)
    error = None
except InvalidSignature as failed:
    error = type(failed).__name__
name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "belljar")]), datetime.now(timezone.utc)
builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
certificate = builder.sign(key, hashes.SHA256())
derived = Scrypt(salt=b"salt", length=32, n=2**14, r=8, p=1).derive(b"password")
print(
    box.decrypt(box.encrypt(b"secret")),
    key.public_key().verify(signature, b"text", *how) is None,
    error,
    certificate.subject.rfc4514_string(),
    len(derived),
)
