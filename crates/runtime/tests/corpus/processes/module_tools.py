import subprocess
import sys

open("bad.json", "w").write('{"a": [1, 2')
open("good.json", "w").write('{"b":1,"a":[2]}')
open("mod.py", "w").write('"""\n>>> 1 + 1\n2\n"""\nX = 1\n')
open("test_mod.py", "w").write("import unittest, mod\nclass T(unittest.TestCase):\n    def test_x(self):\n        self.assertEqual(mod.X, 1)\n")
for command in (
    ["json.tool", "--sort-keys", "good.json"],
    ["json.tool", "bad.json"],
    ["doctest", "mod.py"],
    ["unittest", "-q", "test_mod"],
    ["unittest", "discover", "-q"],
    ["py_compile", "mod.py"],
    ["base64", "-e", "mod.py"],
    ["no_such_module_here"],
):
    r = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    print(command[0], r.returncode, r.stdout)
