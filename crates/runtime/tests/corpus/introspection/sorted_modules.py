import sys

# What an empty program has loaded before it begins, of the better known.
for name in ("json", "asyncio", "re", "threading", "site", "sqlite3", "numpy", "unittest"):
    print(name, name in sys.modules)
