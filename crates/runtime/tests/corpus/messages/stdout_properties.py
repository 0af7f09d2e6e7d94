import locale
import sys

print(sys.stdout.encoding, sys.stderr.encoding, sys.stdin.encoding)
print(sys.getdefaultencoding(), sys.getfilesystemencoding(), locale.getpreferredencoding(False))
print(sys.stdout.errors, sys.stderr.errors)
print(sys.stdout.fileno(), sys.stderr.fileno(), sys.stdin.fileno())
print(sys.stdout.name, sys.stdout.mode, sys.stdout.writable(), sys.stdout.readable())
print(type(sys.stdout).__name__, type(sys.stdout.buffer).__name__)
