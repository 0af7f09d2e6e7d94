# files: shapes.py plugins
import importlib
import importlib.util
import pkgutil
import sys

import shapes
from shapes import Circle

print(round(Circle(2).area(), 3), shapes.square(3), shapes.__name__, shapes.__doc__)
import plugins

for info in sorted(pkgutil.iter_modules(plugins.__path__), key=lambda m: m.name):
    importlib.import_module(f"plugins.{info.name}")
print({name: run("abc") for name, run in sorted(plugins.registry.items())})
with open("generated.py", "w") as f:
    f.write("ANSWER = 42\n")
importlib.invalidate_caches()
spec = importlib.util.spec_from_file_location("gen", "generated.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.ANSWER, importlib.util.find_spec("nope"), "gen" in sys.modules)
with open("generated.py", "w") as f:
    f.write("ANSWER = 'changed, and longer'\n")
import generated

importlib.reload(generated)
print(generated.ANSWER)
