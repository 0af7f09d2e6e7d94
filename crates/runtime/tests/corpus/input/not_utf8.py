# stdin-file: latin.txt
import sys

# In this locale, bytes that are not UTF-8 survive as surrogates.
for line in sys.stdin:
    print(ascii(line), line.encode("utf-8", "surrogateescape"))
