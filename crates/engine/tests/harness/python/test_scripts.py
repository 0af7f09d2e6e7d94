"""Scripts, and the frames they cause: their kinds, their order, and what is in them."""

import os
import subprocess
import sys
import unittest

from support import harness, request, run


def kinds(frames):
    return [frame["type"] for frame in frames]


class OneScript(unittest.TestCase):
    def test_every_frame_is_stamped_and_the_last_one_is_the_end(self):
        frames = run(request("emit_log('a', 'warning')\nemit_intermediate('p', [1])\nemit_result({'b': 2})"))
        self.assertEqual(kinds(frames), ["log", "intermediate", "final_result", "script_done"])
        stamp = {"execution_id": "e-1", "seal": "s-1", "stdout": 0, "stderr": 0}
        self.assertEqual(frames[0], {"type": "log", **stamp, "level": "warning", "message": "a"})
        self.assertEqual(frames[1], {"type": "intermediate", **stamp, "label": "p", "data": [1]})
        self.assertEqual(frames[2], {"type": "final_result", **stamp, "data": {"b": 2}})
        self.assertEqual(frames[3], {"type": "script_done", **stamp})

    def test_frames_say_how_much_was_printed_before_them(self):
        frames = run(
            request("import sys\nprint('four')\nprint('ab', file=sys.stderr)\nemit_result(1)\nprint('x')")
        )
        self.assertEqual([(f["stdout"], f["stderr"]) for f in frames], [(5, 3), (7, 3)])

    def test_the_first_result_stands(self):
        frames = run(request("emit_result(1)\nemit_result(2)"))
        self.assertEqual(kinds(frames), ["final_result", "log", "script_done"])
        self.assertEqual((frames[0]["data"], frames[1]["level"]), (1, "warning"))

    def test_an_error_shows_the_lines_of_the_script_and_none_of_ours(self):
        error = run(request("def f():\n    return {}['gone']\nf()"))[0]
        self.assertEqual(error["message"], "KeyError: 'gone'")
        self.assertIn("return {}['gone']", error["traceback"])
        self.assertEqual(error["traceback"].count("File "), 2)

    def test_an_error_within_a_call_of_ours_shows_none_of_our_lines(self):
        script = "try: emit_result(object())\nexcept TypeError as error: raise ValueError('mine') from error"
        error = run(request(script))[0]
        self.assertEqual(error["message"], "ValueError: mine")
        self.assertIn("data is a object", error["traceback"])
        self.assertNotIn(os.path.dirname(harness.__file__), error["traceback"])

    def test_a_syntax_error_names_its_line(self):
        error = run(request("x = 1\nif x\n    pass"))[0]
        self.assertRegex(error["message"], r"^SyntaxError: .* \(line 2: if x\)$")

    def test_an_exit_names_its_code(self):
        self.assertEqual(run(request("raise SystemExit(3)"))[0]["message"], "Script called sys.exit(3)")
        frame = run(request("raise SystemExit(3)"))[0]
        self.assertEqual((frame["message"], frame["exit_code"]), ("Script called sys.exit(3)", 3))
        self.assertEqual([frame["type"] for frame in run(request("raise SystemExit"))], ["script_done"])

    def test_an_exit_code_is_pythons_own(self):
        for code in [
            *("None", "0", "1", "256", "-1", "-257", "True", "False", "2**31", "2**32 + 7", "2**63 - 1"),
            *("2**63", "-2**63", "-2**63 - 1", "2**64 + 3", "-2**64 + 3", "2**100", "''", "'why'", "2.0"),
            *("(3, 4)", "[]", "object", "type('Odd', (), {'__str__': lambda _: 1 / 0})()", "b'x'"),
        ]:
            script = f"import sys\nsys.exit({code})"
            real = subprocess.run(
                [sys.executable, "-I", "-c", script], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ).returncode
            for mode in ("plan", "script"):
                frames = run(request(script, mode=mode))
                told = frames[0]["exit_code"] if len(frames) > 1 else 0
                self.assertEqual(told, real, f"{mode}: {code}")
            forked = f"import sys\npid = os.fork()\nif pid == 0: sys.exit({code})\n"
            frames = run(request(forked + "emit_result(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"))
            self.assertEqual(frames[0]["data"], real, f"forked: {code}")

    def test_a_script_is_called_as_python_calls_it(self):
        argv = sys.argv
        self.addCleanup(setattr, sys, "argv", argv)
        for name, expected in [(None, "-c"), ("-", "-")]:
            fields = {} if name is None else {"name": name}
            script = "import sys\nemit_result([sys.argv, '__file__' in globals()])"
            frames = run(request(script, args=["x"], **fields))
            self.assertEqual(frames[0]["data"], [[expected, "x"], False])

    def test_an_exception_that_cannot_be_shown_is_told_all_the_same(self):
        script = "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd"
        frames = run(request(script))
        self.assertEqual(kinds(frames), ["error", "script_done"])
        self.assertIn("Odd", frames[0]["message"])

    def test_a_script_that_takes_too_long_is_interrupted(self):
        error = run(request("while True: pass", timeout=0.05))[0]
        self.assertEqual((error["message"], error["timed_out"]), ("Script timed out after 0.05s", True))
        self.assertIn("while True: pass", error["traceback"])

    def test_a_missing_secret_keeps_the_script_from_running(self):
        frames = run(request("emit_result(1)", required_secrets=["NOT_THERE_A", "NOT_THERE_B"]))
        self.assertEqual(kinds(frames), ["error", "script_done"])
        self.assertIn("['NOT_THERE_A', 'NOT_THERE_B']", frames[0]["message"])

    def test_a_secret_is_a_variable(self):
        self.addCleanup(os.environ.pop, "GIVEN", None)
        frames = run(
            request("emit_result(os.environ['GIVEN'])", required_secrets=["GIVEN"], secrets={"GIVEN": "x"})
        )
        self.assertEqual(frames[0]["data"], "x")

    def test_a_fork_that_comes_to_the_end_of_the_script_says_nothing(self):
        frames = run(request("pid = os.fork()\nif pid: emit_result(os.waitpid(pid, 0)[1])"))
        self.assertEqual(kinds(frames), ["final_result", "script_done"])
        self.assertEqual(frames[0]["data"], 0)

    def test_a_fork_cannot_emit(self):
        script = "pid = os.fork()\nif pid == 0: emit_log('child')\nemit_result(os.waitpid(pid, 0)[1] >> 8)"
        frames = run(request(script))
        self.assertEqual((kinds(frames), frames[0]["data"]), (["final_result", "script_done"], 1))

    def test_nobody_speaks_when_no_script_runs(self):
        with self.assertRaisesRegex(RuntimeError, "no script is running"):
            harness.execution.emit_log("to nobody")


class Steps(unittest.TestCase):
    def steps(self, *scripts):
        return run(*(request(script, mode="interactive") for script in scripts))

    def test_steps_share_their_variables_and_scripts_do_not(self):
        frames = self.steps("x = 41", "emit_result(x + 1)")
        self.assertEqual(frames[1]["data"], 42)
        self.assertIn("NameError", run(request("y = 1"), request("y"))[1]["message"])

    def test_the_value_of_a_last_expression_is_printed(self):
        self.assertEqual(self.steps("6 * 7\n'shown'")[0]["stdout"], len("'shown'\n"))
        self.assertEqual(self.steps("None")[0]["stdout"], 0)

    def test_a_step_is_interrupted_soon_after_its_result(self):
        frames = self.steps("emit_result(1)\nwhile True: pass")
        self.assertEqual(kinds(frames), ["final_result", "log", "script_done"])
        self.assertIn("went on after emit_result", frames[1]["message"])

    def test_a_later_step_has_a_name_of_its_own_in_tracebacks(self):
        frames = self.steps("1", "1 / 0")
        self.assertIn('File "<agent_script step 2>", line 1', frames[1]["traceback"])

    def test_a_thread_of_an_earlier_step_that_speaks_is_told(self):
        self.addCleanup(setattr, harness.strays, "exist", False)
        begin = (
            "import threading\ngo, gone = threading.Event(), threading.Event()\n"
            "def late():\n    go.wait()\n    print('late')\n    gone.set()\n"
            "threading.Thread(target=late, daemon=True).start()"
        )
        frames = self.steps(begin, "go.set()\ngone.wait()\nNone")
        self.assertEqual(kinds(frames), ["script_done", "log", "script_done"])
        self.assertIn("a thread of an earlier step has printed", frames[1]["message"])


if __name__ == "__main__":
    unittest.main()
