# differs: output is text, so what is not UTF-8 becomes U+FFFD
import sys

# A picture, or text in another encoding, sent to stdout as it is.
sys.stdout.buffer.write(b"\x89PNG\r\n\x1a\n" + "café\n".encode("latin-1"))
