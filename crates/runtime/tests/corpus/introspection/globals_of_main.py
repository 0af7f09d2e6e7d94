# differs: some modules are imported already, and emit_result is there
# What a fresh program finds in its globals.
print(sorted(n for n in globals() if not n.startswith("__")))
print(__name__, __doc__, type(__builtins__).__name__)
print("json" in dir(), "os" in dir(), "emit_result" in dir())
print(sorted(vars()) == sorted(globals()))
