# -*- coding: utf-8 -*-
import inspect
import linecache
import sys
import tokenize


def after_a_form_feed():
    """Some editors see a page break above."""


source = inspect.getsource(sys.modules[__name__])
print(len(source.splitlines()), linecache.getline(__file__, 3).strip())
with tokenize.open(__file__) as f:
    print(f.encoding, sum(1 for _ in tokenize.generate_tokens(f.readline)))
with open(__file__) as f:
    print(f.read() == source, "ä" in source)
print(inspect.getsource(after_a_form_feed), inspect.getsourcelines(after_a_form_feed)[1])
