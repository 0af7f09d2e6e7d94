"""Tool files: modules of their own, names, asynchronous functions."""

import importlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import unittest

from support import Place, harness, request, run

tools = importlib.import_module("belljar_harness.tools")
loading = importlib.import_module("belljar_harness.loading")
namespace = harness.namespace
base_globals = namespace.base_globals


class ToolPlace(Place):
    """A directory of tool files. What they leave in this process goes with the test."""

    def setUp(self):
        super().setUp()
        before = dict(base_globals), dict(sys.modules), sys.meta_path[:], sys.path[:]

        def restore():
            for now, then in ((base_globals, before[0]), (sys.modules, before[1])):
                for name in set(now) - set(then):
                    del now[name]
            sys.meta_path[:], sys.path[:] = before[2:]
            namespace.late_tools = None
            for thread in threading.enumerate():
                if thread.name == "tool-loop":
                    loop = thread._target.__self__
                    loop.call_soon_threadsafe(loop.stop)
                    thread.join()
                    loop.close()

        self.addCleanup(restore)

    def load(self, secrets=(), **files):
        for name, text in files.items():
            self.write(f"{name}.py", text)
        return tools.load_tools(self.place, secrets)

    def result(self, script, **fields):
        """What a script emits as its result."""
        frames = run(request(script, **fields))
        self.assertEqual(frames[0]["type"], "final_result", frames[0].get("traceback") or frames[0])
        return frames[0]["data"]


class Modules(ToolPlace):
    def test_functions_are_tools_and_what_a_file_imports_is_not(self):
        self.write("notes.txt", "not a tool")
        loaded = self.load(
            a="from textwrap import dedent\nLIMIT = 3\ndef plain(x): return x * LIMIT\n",
            b="async def waits(x):\n    return x + 1\n",
        )
        self.assertEqual(loaded, (["plain", "waits"], []))
        self.assertFalse({"__file__", "LIMIT", "dedent"} & set(base_globals))
        self.assertEqual(self.result("emit_result([plain(2), waits(2)])"), [6, 3])

    def test_a_file_that_fails_is_named_with_its_line_and_the_rest_load(self):
        names, warnings = self.load(
            a="x = 1\nraise ValueError('no')\n", b="def fine(): pass\n", c="def broken(:\n"
        )
        self.assertEqual(names, ["fine"])
        self.assertEqual(warnings[0], "tool file a.py did not load: line 2: ValueError: no")
        self.assertRegex(warnings[1], r"^tool file c.py did not load: line 1: SyntaxError: ")
        self.assertNotIn("a", sys.modules)

    def test_a_file_that_never_ends_is_named_with_its_line_and_the_rest_load(self):
        before = signal.getsignal(signal.SIGALRM)
        self.addCleanup(setattr, loading, "EACH", loading.EACH)
        loading.EACH = 0.05
        names, warnings = self.load(
            a="x = 1\nwhile x: pass\n",
            b="while True:\n    try:\n        while True: pass\n    except Exception: pass\n",
            c="def fine(): pass\n",
        )
        self.assertEqual(names, ["fine"])
        told = "tool file {} did not load: line {}: LoadTimeout: it takes longer than 0.05 s"
        self.assertEqual(warnings, [told.format("a.py", 2), told.format("b.py", 3)])
        self.assertIs(signal.getsignal(signal.SIGALRM), before)
        self.assertEqual(signal.getitimer(signal.ITIMER_REAL), (0.0, 0.0))
        self.assertNotIn("a", sys.modules)

    def test_what_does_not_mind_the_limit_ends_the_process_and_says_where_it_was(self):
        self.write("deaf.py", "while True:\n    try: time.sleep(600)\n    except BaseException: pass\n")
        code = (
            f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
            "from support import harness\nimport importlib\n"
            "loading = importlib.import_module('belljar_harness.loading')\n"
            "loading.EACH, loading.GRACE = 0.05, 0.1\n"
            f"importlib.import_module('belljar_harness.tools').load_tools({self.place!r})"
        )
        ended = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, r'File ".*deaf.py", line [123] in <module>')

    def test_no_directory_is_no_tools(self):
        self.assertEqual(tools.load_tools(self.place + "/none"), ([], []))

    def test_globals_of_two_files_are_apart(self):
        same = "LIMIT = {0}\n_calls = []\ndef _help(): return LIMIT\nclass Box: size = {0}\n"
        body = "def {1}():\n    _calls.append(1)\n    return [_help(), Box.size, len(_calls)]\n"
        self.load(a=(same + body).format(1, "one"), b=(same + body).format(2, "two"))
        script = "one()\nemit_result([one(), two(), 'Box' in globals(), '_help' in globals()])"
        self.assertEqual(self.result(script), [[1, 1, 2], [2, 2, 1], False, False])

    def test_private_functions_classes_and_constants_stay_in_their_file(self):
        names, _ = self.load(a="def _hidden(): pass\nclass Shown: pass\nX = 1\ndef seen(): pass\n")
        self.assertEqual(names, ["seen"])

    def test_what_a_decorator_or_a_factory_makes_is_a_tool(self):
        source = """
        import functools
        @functools.lru_cache(None)
        def cached(x): return x
        def _times(n):
            def by(x): return n * x
            return by
        double = _times(2)
        half = lambda x: x / 2
        """
        self.assertEqual(self.load(a=source), (["cached", "double", "half"], []))
        self.assertEqual(self.result("emit_result([cached(1), double(2), half(4)])"), [1, 4, 2])

    def test_helpers_of_scripts_are_there_without_an_import(self):
        self.load(a="def ask(): return ToolResponse(True, json.loads('[1]'))\n")
        self.assertEqual(self.result("emit_result(ask().data)"), [1])

    def test_a_file_is_a_module_and_hides_no_other(self):
        self.load(
            some_tool="FACTOR = 2\ndef twice(x): return x * FACTOR\n",
            json="def encode(x): return __name__\n",
            colorsys="def paint(): return __name__\n",
        )
        self.assertIs(sys.modules["json"], json)
        script = (
            "import some_tool, json, colorsys\n"
            "emit_result([some_tool.FACTOR, some_tool.twice(2), json.dumps(1), hasattr(colorsys, 'paint'),"
            " encode(1), paint()])"
        )
        expected = [2, 4, "1", False, "belljar_tool_json", "belljar_tool_colorsys"]
        self.assertEqual(self.result(script), expected)

    def test_files_import_each_other_in_any_order_and_offer_only_what_is_theirs(self):
        loaded = self.load(
            a_first="from z_last import base\ndef more(): return base() + 1\n",
            z_last="def base(): return 1\n",
        )
        self.assertEqual(loaded, (["more", "base"], []))
        self.assertEqual(self.result("emit_result(more())"), 2)

    def test_imports_of_scripts_pass_by_nothing_of_ours(self):
        before = sys.meta_path[:]
        self.load(a="def f(): pass\n")
        self.assertEqual(sys.meta_path, before)

    def test_tools_can_be_pickled_and_called_in_other_processes(self):
        self.load(
            pickled="import asyncio\ndef twice(x): return 2 * x\n"
            "async def thrice(x):\n    await asyncio.sleep(0)\n    return 3 * x\n"
        )
        script = (
            "import multiprocessing, pickle\n"
            "same = [pickle.loads(pickle.dumps(tool)) is tool for tool in (twice, thrice)]\n"
            "thrice(1)\n"
            "with multiprocessing.get_context('fork').Pool(1) as pool:\n"
            "    emit_result([same, pool.map(twice, [1, 2]), pool.map(thrice, [1, 2])])"
        )
        self.assertEqual(self.result(script), [[True, True], [2, 4], [3, 6]])


class Names(ToolPlace):
    def test_a_name_that_two_files_define_is_an_error_that_names_both(self):
        names, warnings = self.load(
            a="def fetch(): return 'a'\n", b="def fetch(): return 'b'\ndef other(): pass\n"
        )
        self.assertEqual(names, ["fetch"])
        self.assertEqual(warnings, ["tool file b.py did not load: it defines fetch, and so does a.py"])
        self.assertEqual(self.result("emit_result([fetch(), 'other' in globals()])"), ["a", False])

    def test_a_name_that_every_script_starts_with_cannot_be_a_tools(self):
        for name in sorted(set(base_globals) - {"__builtins__"}):
            self.write(f"{name}_place/hides.py", f"def {name}(): pass\n")
            names, warnings = tools.load_tools(f"{self.place}/{name}_place")
            self.assertEqual(names, [])
            why = f"it defines {name}, which hides the {name} that every script starts with"
            self.assertEqual(warnings, [f"tool file hides.py did not load: {why}"])
        self.assertIs(base_globals["math"], math)

    def test_private_names_and_imports_clash_with_nothing(self):
        loaded = self.load(
            a="import json\ndef _help(): pass\ndef one(): pass\n",
            b="from math import sqrt as time\ndef _help(): pass\ndef two(): pass\n",
        )
        self.assertEqual(loaded, (["one", "two"], []))


class Asynchronous(ToolPlace):
    def setUp(self):
        super().setUp()
        self.load(
            waits="""
            import asyncio
            import threading

            async def inner(x):
                await asyncio.sleep(0)
                return x + 1

            async def outer(x):
                return await inner(x) + await _private(x)

            async def _private(x):
                return 100

            async def which_thread():
                return threading.current_thread().name

            async def fails():
                raise ValueError("inside")

            async def counted():
                yield 1

            _cancelled = threading.Event()
            async def hangs():
                try:
                    await asyncio.Event().wait()
                finally:
                    _cancelled.set()

            def was_cancelled():
                return _cancelled.wait(10)

            def plain(x):
                return x * 2
            """
        )

    def test_one_awaits_another_of_its_file(self):
        self.assertEqual(self.result("emit_result(outer(1))", timeout=10.0), 102)

    def test_a_script_that_awaits_gets_something_to_await(self):
        script = "emit_result([await outer(1), plain(2), await asyncio.gather(inner(1), inner(2))])"
        self.assertEqual(self.result(script, timeout=10.0), [102, 4, [2, 3]])

    def test_a_loop_of_the_scripts_own_takes_tools_as_tasks(self):
        script = (
            "async def main():\n"
            "    task = asyncio.create_task(inner(1))\n"
            "    return [await task, await asyncio.wait_for(outer(2), 5), plain(1)]\n"
            "emit_result([asyncio.run(main()), asyncio.run(main()), inner(5)])"
        )
        self.assertEqual(self.result(script, timeout=10.0), [[2, 103, 2], [2, 103, 2], 6])

    def test_every_call_runs_on_the_same_loop(self):
        script = (
            "import threading\nfound = []\n"
            "thread = threading.Thread(target=lambda: found.append(which_thread()))\n"
            "thread.start(); thread.join()\nfound.append(await which_thread())\nemit_result(found)"
        )
        self.assertEqual(self.result(script, timeout=10.0), ["tool-loop", "tool-loop"])

    def test_errors_come_back_to_whoever_called(self):
        script = (
            "async def main():\n    try: await fails()\n    except ValueError as error: return str(error)\n"
            "try: fails()\nexcept ValueError as error: emit_result([str(error), asyncio.run(main())])"
        )
        self.assertEqual(self.result(script, timeout=10.0), ["inside", "inside"])
        frames = run(request("inner()", timeout=10.0))
        self.assertIn("missing 1 required positional argument", frames[0]["message"])

    def test_a_tool_that_is_still_at_work_when_time_is_up_is_cancelled(self):
        steps = [("hangs()", 0.2), ("emit_result(was_cancelled())", 30.0)]
        frames = run(*(request(text, mode="interactive", timeout=limit) for text, limit in steps))
        self.assertIn("timed out", frames[0]["message"])
        self.assertEqual([each["data"] for each in frames if each["type"] == "final_result"], [True])

    def test_an_asynchronous_generator_stays_one(self):
        self.assertEqual(self.result("emit_result([x async for x in counted()])", timeout=10.0), [1])

    def test_a_script_sees_the_signature_of_the_tool(self):
        script = "import inspect\nemit_result([str(inspect.signature(inner)), inner.__name__])"
        self.assertEqual(self.result(script), ["(x)", "inner"])


if __name__ == "__main__":
    unittest.main()
