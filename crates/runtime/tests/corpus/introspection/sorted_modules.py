# differs: some modules are imported already, and emit_result is there
import sys

# What an empty program has loaded before it begins, of the better known.
for name in ("json", "asyncio", "re", "threading", "site", "sqlite3", "numpy", "unittest"):
    print(name, name in sys.modules)
