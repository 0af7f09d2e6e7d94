import locale
import sys

print(sys.stdout.encoding, sys.stderr.encoding, sys.stdin.encoding)
print(sys.getdefaultencoding(), sys.getfilesystemencoding(), locale.getpreferredencoding(False))
print(sys.stderr.errors)
for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream.fileno(), stream.name, stream.mode, stream.readable(), stream.writable(), stream.isatty())
print(type(sys.stdout).__name__, type(sys.stdout.buffer).__name__, sys.stdout.closed)
print(sys.stdout is sys.__stdout__, sys.stdin is sys.__stdin__, sys.stdout.seekable())
