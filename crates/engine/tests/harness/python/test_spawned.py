"""The file that children of a script without one run: what is in it, and what is not."""

import importlib
import linecache
import os
import runpy
import unittest

from support import Place, harness, request, run

spawned = importlib.import_module("belljar_harness.spawned")


class Spawned(Place):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, harness.namespace, "is_session", False)
        self.addCleanup(self.forget)
        harness.namespace.is_session = False
        self.forget()

    def forget(self):
        for name in [name for name in linecache.cache if name.startswith("<agent_script")]:
            del linecache.cache[name]

    def child(self, *scripts, mode="script"):
        """What a child of the last script finds in its `__main__`."""
        # A child has no `emit_log`.
        told = "sys.modules['belljar_harness.spawned'].with_main({})['init_main_from_path']"
        tell = f"import sys\n'emit_log' in globals() and emit_log({told})"
        frames = run(*(request(script, mode=mode) for script in (*scripts[:-1], f"{scripts[-1]}\n{tell}")))
        path = next(frame["message"] for frame in frames if frame["type"] == "log")
        self.addCleanup(os.remove, path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        return runpy.run_path(path, run_name="__mp_main__")

    def test_a_script_without_a_guard_defines_everything_and_does_nothing_again(self):
        os.environ["SEEN"] = ""
        self.addCleanup(os.environ.pop, "SEEN")
        found = self.child(
            "'''doc'''\nfrom __future__ import annotations\nimport collections, re as regex\n"
            "try: import no_such_module\nexcept ImportError: no_such_module = None\n"
            "A, (B, C) = 1, (2, [3])\nD: int = -A * 2\nE = {n: n for n in range(3)}\n"
            "P = collections.namedtuple('P', 'x')\nWORD = regex.compile('x')\nsquare = lambda x: x * x\n"
            "def f(x: Gone) -> Gone: return x + A\nasync def g(): return 1\nclass K: z = B\n"
            "os.environ['SEEN'] += 'x'; LATER = 5\nos.environ['SEEN'] = 'y'\n"
            "for i in range(3): os.environ['SEEN'] += 'z'\n"
            "H = [].append(1) or (lambda f: f)\n@H\ndef broken(): pass\n"
        )
        self.assertEqual(os.environ["SEEN"], "yzzz")
        names = ("A", "B", "C", "D", "E", "LATER", "no_such_module")
        self.assertEqual([found[name] for name in names], [1, 2, [3], -2, {0: 0, 1: 1, 2: 2}, 5, None])
        self.assertEqual((found["f"](1), found["K"].z, found["square"](3)), (2, 2, 9))
        self.assertEqual(
            (found["P"](4).x, found["WORD"].pattern, found["f"].__module__), (4, "x", "__mp_main__")
        )
        self.assertEqual(found["os"], os)
        self.assertFalse({"H", "i", "broken", "_run", "emit_result"} & set(found))

    def test_a_script_with_a_guard_runs_as_its_file_would(self):
        found = self.child("x = len('abc')\nif __name__ == '__main__':\n    y = 1\nelse:\n    z = __name__\n")
        self.assertEqual((found["x"], found["z"], "y" in found), (3, "__mp_main__", False))

    def test_a_guarded_script_that_awaits_defines_what_it_can(self):
        found = self.child(
            "def f(): return 1\nimport asyncio\nif __name__ == '__main__':\n    await asyncio.sleep(0)\n"
        )
        self.assertEqual(found["f"](), 1)

    def test_steps_of_a_session_are_one_script(self):
        found = self.child("def f(): return n", "def f(:", "n = 1\n1 / 0", "n = 2", mode="interactive")
        self.assertEqual(found["f"](), 2)

    def test_lines_of_a_child_are_those_of_the_script(self):
        found = self.child("\n\ndef f():\n    raise ValueError\n")
        try:
            found["f"]()
        except ValueError as error:
            told = harness.traces.trace(error)
        self.assertIn('File "<agent_script>", line 4, in f\n    raise ValueError', told)

    def test_a_file_is_written_once_and_not_for_others(self):
        told = {"init_main_from_path": "/x.py"}
        self.assertEqual(spawned.with_main(dict(told)), told)
        self.assertEqual(spawned.with_main({}), {})
        self.forget()
        script = (
            "import sys\nspawned = sys.modules['belljar_harness.spawned']\n"
            "emit_result([spawned.with_main({})['init_main_from_path'] for _ in range(2)])"
        )
        one, other = run(request(script))[0]["data"]
        os.remove(one)
        self.assertEqual(one, other)


if __name__ == "__main__":
    unittest.main()
