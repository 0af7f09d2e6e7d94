"""Tool files that need a secret while they are loaded."""

import importlib
import os
import sys
import unittest

from support import harness, request, run
from test_tools import ToolPlace, base_globals, namespace

late_tools, tool_files, tools = (
    importlib.import_module(f"belljar_harness.{name}") for name in ("late_tools", "tool_files", "tools")
)
SECRETS = {"BELLJAR_TEST_KEY": "value-of-it"}
READS = "KEY = os.environ['BELLJAR_TEST_KEY']\ndef ask(): return len(KEY)\n"


class Late(ToolPlace):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.environ.pop, "BELLJAR_TEST_KEY", None)

    def load(self, **files):
        return super().load(list(SECRETS), **files)

    def fate(self, source):
        """What becomes of a file: `warm`, `late` or `failed`."""
        self.tries = getattr(self, "tries", 0) + 1
        place = f"{self.place}/{self.tries}"
        self.write(f"{self.tries}/probe_{self.tries}.py", source)
        files = tool_files.tool_files(place)
        with tool_files.ToolFinder(files):
            ((_, problem),) = late_tools.tried(files, place, list(SECRETS))
        return "warm" if problem is None else "late" if problem is late_tools.LATE else "failed"

    def test_a_file_that_reads_a_secret_is_listed_and_loaded_with_the_first_script(self):
        names, warnings = self.load(late=READS, warm="def other(): return 1\n")
        self.assertEqual((names, warnings), (["ask", "other"], []))
        self.assertNotIn("ask", base_globals)
        self.assertNotIn("late", sys.modules)
        self.assertIn("warm", sys.modules)
        script = "import late\nemit_result([ask(), other(), late.ask is ask])"
        self.assertEqual(self.result(script, secrets=SECRETS), [11, 1, True])
        self.assertIsNone(namespace.late_tools)

    def test_every_way_to_ask_for_a_secret_is_noticed(self):
        ways = [
            "import os\nKEY = os.environ['BELLJAR_TEST_KEY']",
            "import os\nKEY = os.getenv('BELLJAR_TEST_KEY', 'nothing')",
            "from os import environ\nKEY = environ.get('BELLJAR_TEST_KEY')",
            "import os\nKEY = 'BELLJAR_TEST_KEY' in os.environ",
            "import os\nKEY = os.environb.get(b'BELLJAR_TEST_KEY')",
            "import os\ndef _read(name): return os.getenv(name)\nKEY = _read('BELLJAR' + '_TEST_KEY')",
            "import os\nclass Settings:\n    key = os.environ.get('BELLJAR_TEST_KEY')",
            "import os\ndef f(key=os.getenv('BELLJAR_TEST_KEY')): pass",
            "import os\ntry: KEY = os.environ['BELLJAR_TEST_KEY']\nexcept: KEY = None",
            "import os\nALL = dict(os.environ)",
            "import os\nALL = {name.lower(): value for name, value in os.environ.items()}",
        ]
        for way in ways:
            self.assertEqual(self.fate(way), "late", way)

    def test_other_files_stay_warm(self):
        others = [
            "import os\ndef ask(): return os.environ['BELLJAR_TEST_KEY']",
            "import os\nHOME = os.environ.get('HOME')",
            "import os\nos.environ['SOMETHING_ELSE'] = '1'",
            "NAME = 'BELLJAR_TEST_KEY'  # os.environ['BELLJAR_TEST_KEY']",
        ]
        for source in others:
            self.assertEqual(self.fate(source), "warm", source)

    def test_a_file_that_takes_too_long_to_try_is_left_for_the_cell(self):
        trial = importlib.import_module("belljar_harness.trial")
        self.addCleanup(setattr, trial, "BUDGET", trial.BUDGET)
        trial.BUDGET = 0.3
        self.assertEqual(self.fate("import signal\nsignal.pause()\n"), "late")

    def test_a_file_that_ends_the_process_has_failed(self):
        self.assertEqual(self.fate("import os\nos._exit(3)\n"), "failed")

    def test_a_package_that_looks_at_the_whole_environment_keeps_nobody_cold(self):
        sys.path.insert(0, self.place)
        self.write("some_package_here.py", "import os\nNAMES = list(os.environ)\n")
        self.assertEqual(self.fate("import some_package_here\ndef f(): pass\n"), "warm")

    def test_a_trial_leaves_no_trace(self):
        self.write("helper_of_late.py", "import sys\n")
        sys.path.insert(0, self.place)
        trace = "import os, helper_of_late\nhelper_of_late.sys.left_by_late = 1\nos.environ['LEFT'] = '1'\n"
        names, _ = self.load(late=trace + READS)
        self.assertIn("ask", names)
        self.assertNotIn("helper_of_late", sys.modules)
        self.assertFalse(hasattr(sys, "left_by_late") or "LEFT" in os.environ)
        self.assertNotIsInstance(os.environ._data, late_tools.NoticingEnvironment)

    def test_a_file_that_imports_a_late_one_is_late(self):
        names, warnings = self.load(
            a_user="from z_late import ask\ndef twice(): return 2 * ask()\n", z_late=READS
        )
        self.assertEqual((names, warnings), (["twice", "ask"], []))
        self.assertFalse({"a_user", "z_late"} & set(sys.modules))
        self.assertEqual(self.result("emit_result(twice())", secrets=SECRETS), 22)

    def test_a_late_file_has_the_helpers_of_scripts_and_no_tools_of_other_files(self):
        self.load(a="def other(): pass\n", late=READS + "def has(name): return name in globals()\n")
        script = "emit_result([has('ToolResponse'), has('other')])"
        self.assertEqual(self.result(script, secrets=SECRETS), [True, False])

    def test_a_late_asynchronous_tool_is_called_like_any(self):
        self.load(late=READS + "async def waits(): return ask()\nasync def both(): return await waits()\n")
        self.assertEqual(self.result("emit_result(await both())", secrets=SECRETS, timeout=10.0), 11)
        self.assertEqual(self.result("emit_result(both())", secrets=SECRETS, timeout=10.0), 11)

    def test_a_late_file_that_fails_ends_the_run_with_its_name_and_line(self):
        self.load(
            late="x = 1\nif len(os.environ['BELLJAR_TEST_KEY']) > 1:\n    raise ValueError('too long')\n"
        )
        for mode in ("plan", "script", "interactive"):
            frames = run(request("print('never')", secrets=SECRETS, mode=mode))
            message = "tool file late.py did not load: line 3: ValueError: too long"
            self.assertEqual((frames[0]["type"], frames[0]["message"]), ("error", message))
            self.assertRegex(
                frames[0]["traceback"], r'^Traceback.*\n  File ".*/late.py", line 3, in <module>\n'
            )
            self.assertEqual((frames[0]["stdout"], frames[-1]["type"]), (0, "script_done"))

    def test_a_late_file_that_exits_or_is_broken_is_an_error_too(self):
        self.load(late="import sys\nos.getenv('BELLJAR_TEST_KEY')\nsys.exit(3)\n")
        frames = run(request("", secrets=SECRETS))
        self.assertIn("tool file late.py did not load: line 3: SystemExit", frames[0]["message"])

    def test_loading_late_counts_as_time_of_the_run(self):
        self.load(late="import threading\nos.getenv('BELLJAR_TEST_KEY')\nthreading.Event().wait()\n")
        frames = run(request("", secrets=SECRETS, timeout=0.2))
        self.assertTrue(frames[0]["timed_out"])

    def test_a_session_loads_a_late_file_once(self):
        self.addCleanup(delattr, sys, "late_loads")
        self.load(late=READS + "import sys\nsys.late_loads = getattr(sys, 'late_loads', 0) + 1\n")
        scripts = "x = ask()", "import sys\nemit_result([x, ask(), sys.late_loads])"
        frames = run(*(request(each, mode="interactive", secrets=SECRETS) for each in scripts))
        self.assertEqual([each["data"] for each in frames if each["type"] == "final_result"], [[11, 11, 1]])

    def test_what_a_late_file_prints_is_not_the_scripts_output(self):
        self.load(late="print('loading', os.getenv('BELLJAR_TEST_KEY'))\ndef f(): return 1\n")
        frames = run(request("emit_result(f())", secrets=SECRETS))
        self.assertEqual((frames[0]["stdout"], frames[0]["stderr"] > 0), (0, True))

    def test_a_module_in_the_workspace_is_not_taken_for_one_that_a_late_file_wants(self):
        workspace = self.place + "/workspace"
        self.write("workspace/colorsys.py", "raise ValueError('of the script')\n")
        self.write(
            "tools/late.py", "import os\nos.getenv('BELLJAR_TEST_KEY')\nimport colorsys\ndef f(): return 1\n"
        )
        sys.modules.pop("colorsys", None)
        tools.load_tools(self.place + "/tools", list(SECRETS), workspace)
        sys.path.insert(0, workspace)
        script = "import sys\nemit_result([f(), sys.path[0]])"
        self.assertEqual(self.result(script, secrets=SECRETS), [1, workspace])

    def test_a_warm_up_leaves_late_files_alone(self):
        self.load(late=READS)
        harness.warm_up(namespace.new_main())
        self.assertIsNotNone(namespace.late_tools)
        self.assertNotIn("late", sys.modules)

    def test_names_of_late_files_clash_before_anything_runs(self):
        names, warnings = self.load(a="def ask(): pass\n", late=READS)
        self.assertEqual(names, ["ask"])
        self.assertEqual(warnings, ["tool file late.py did not load: it defines ask, and so does a.py"])
        self.assertIsNone(namespace.late_tools)

    def test_a_failure_in_the_trial_is_told_with_its_line_and_leaves_nothing(self):
        names, warnings = self.load(
            bad="x = 1\nimport not_there_at_all\n", worse="def f(:\n", fine="def g(): pass\n"
        )
        self.assertEqual(names, ["g"])
        self.assertRegex(warnings[0], "^tool file bad.py did not load: line 2: ModuleNotFoundError: ")
        self.assertRegex(warnings[1], "^tool file worse.py did not load: line 1: SyntaxError: ")

    def test_without_secrets_nothing_is_tried(self):
        forks, fork = [], os.fork
        self.addCleanup(setattr, os, "fork", fork)
        os.fork = lambda: forks.append(1) or fork()
        super().load((), warm="def f(): pass\n")
        self.assertEqual(forks, [])


if __name__ == "__main__":
    unittest.main()
