# -*- coding: latin-1 -*-
# Written on an old machine: the next line is not UTF-8.
name = "José"
print(name, len(name), name.encode("utf-8"))
print(open(__file__, encoding="latin-1").readline().strip())
