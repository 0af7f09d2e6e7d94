import codecs
import io
import sys

sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", write_through=True)
print("rewrapped ✓", sys.stdout.fileno())
sys.stdout = codecs.getwriter("utf-8")(sys.stdout.detach())
print("by codecs ✓")
sys.stdout.write("last line\n")
