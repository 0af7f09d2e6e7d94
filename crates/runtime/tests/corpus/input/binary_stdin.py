# stdin-file: students.txt
import hashlib
import sys

data = sys.stdin.buffer.read()
print(len(data), hashlib.sha256(data).hexdigest()[:16], flush=True)
sys.stdout.buffer.write(data[:6].hex(" ").encode() + b"\n")
sys.stdout.buffer.flush()
