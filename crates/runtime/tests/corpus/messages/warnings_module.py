import warnings


def old():
    warnings.warn("old() is deprecated", DeprecationWarning, stacklevel=2)


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old()
    warnings.warn("plain")
for w in caught:
    print(w.category.__name__, w.message, w.lineno, w.filename == __file__)

shown = []
warnings.showwarning = lambda message, category, *rest: shown.append(category.__name__)
old()  # Shown by default only when triggered in __main__.
for _ in range(3):
    warnings.warn("once per place")
print(shown)
