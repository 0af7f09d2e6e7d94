import pprint
import textwrap
from reprlib import Repr

data = {"name": "example", "values": list(range(30)), "nested": {"k" + str(i): "v" * i for i in range(5)}}
pprint.pprint(data, width=60, compact=True)
print(textwrap.fill("The quick brown fox jumps over the lazy dog. " * 3, width=40, initial_indent="* ", subsequent_indent="  "))
print(textwrap.dedent("""
    indented
      more
    end"""))
print(textwrap.shorten("a long sentence that must be cut", width=20, placeholder="..."))
r = Repr()
r.maxlist = 3
print(r.repr(list(range(100))))
