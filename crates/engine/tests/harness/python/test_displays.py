"""What scripts show: frames, forms, and how packages are taught."""

import base64
import importlib
import os
import sys
import tempfile
import unittest

from support import harness, request, run


def shown(script, mode="script", **limits):
    return [frame for frame in run(request(script, mode=mode, **limits)) if frame["type"] == "display"]


class Frames(unittest.TestCase):
    def test_text_is_text_json_is_json_and_the_rest_is_base64(self):
        forms = {
            "text/html": "é\ud800",
            "application/x+json": {"a": [1]},
            "image/png": b"\x89PNG\r\n\x1a\n",
            "x/y": "aGk=",
        }
        data = shown(f"display({forms!r}, raw=True)")[0]["data"]
        self.assertEqual(data["text/html"], "é\\ud800")
        self.assertEqual(data["application/x+json"], {"a": [1]})
        self.assertEqual((base64.b64decode(data["image/png"]), data["x/y"]), (b"\x89PNG\r\n\x1a\n", "aGk="))

    def test_forms_can_be_chosen(self):
        both = "class A:\n    def _repr_html_(self): return '<b>'\n"
        only = shown(f"{both}display(A(), include=['text/html'])\ndisplay(A(), exclude=['text/html'])")
        self.assertEqual([list(frame["data"]) for frame in only], [["text/html"], ["text/plain"]])

    def test_an_object_may_show_itself_or_say_its_own_text(self):
        script = (
            "class Widget:\n    def _ipython_display_(self): display(7)\n"
            "class Bundle:\n    def _repr_mimebundle_(self, include, exclude):\n"
            "        return {'text/plain': 'mine', 'text/html': 'x'}\n"
            "display(Widget(), Bundle())\n"
        )
        data = [frame["data"] for frame in shown(script)]
        self.assertEqual(data, [{"text/plain": "7"}, {"text/html": "x", "text/plain": "mine"}])
        self.assertEqual(
            [frame["data"] for frame in shown(script + "Bundle()", "interactive")][2:], [{"text/html": "x"}]
        )

    def test_small_forms_go_first_and_what_does_not_fit_is_counted(self):
        script = (
            "class A:\n    def _repr_jpeg_(self): return b'\\xff\\xd8\\xff' + b'x' * 5000\n"
            "    def __repr__(self): return 'a'\ndisplay(A())"
        )
        for most, forms, left_out in [
            (20_000, ["text/plain", "image/jpeg"], None),
            (9_000, ["text/plain"], 1),
            (20, [], 2),
        ]:
            frame = shown(script, max_output_bytes=most)[0]
            self.assertEqual((list(frame["data"]), frame.get("left_out")), (forms, left_out))

    def test_a_form_that_is_not_what_its_type_says_is_left_out(self):
        def told(mime, data):
            frames = run(request(f"display({{{mime!r}: {data!r}, 'text/plain': 'x'}}, raw=True)"))
            self.assertEqual(frames[-2]["data"].pop("text/plain"), "x")
            return frames[0].get("message", "").partition("left out: ")[2], frames[-2]["data"]

        for mime, begin in {
            "image/png": b"\x89PNG\r\n\x1a\n",
            "image/jpeg": b"\xff\xd8\xff",
            "image/gif": b"GIF89a",
            "image/webp": b"RIFF\0\0\0\0WEBP",
            "application/pdf": b"\n%PDF-1.4",
        }.items():
            written = base64.b64encode(begin).decode()
            for fine in (begin, written, written[:4] + "\n" + written[4:]):
                self.assertEqual(told(mime, fine), ("", {mime: written}))
            for bad, why in [
                (b"not" + begin[:2], f"it does not begin as {mime} does"),
                ("bm90", f"it does not begin as {mime} does"),
                (b"", "it is empty"),
                ("", "it is empty"),
                ("@@", "it is no base64"),
                (written.rstrip("=") + "=@", "it is no base64"),
                ("é", "it is no base64"),
            ]:
                self.assertEqual(told(mime, bad), (why, {}), bad)
        self.assertEqual(told("x/any", b"any"), ("", {"x/any": "YW55"}))

    def test_after_the_most_displays_the_host_hears_once_and_in_the_end(self):
        frames = shown("for n in range(200): display(n)")
        self.assertEqual([frame.get("left_out") for frame in frames], [None] * 50 + [1, 149])
        self.assertEqual([frame["data"] for frame in frames[50:]], [{}, {}])

    def test_complaints_are_bounded(self):
        script = "class A:\n    def _repr_html_(self): raise ValueError\nfor _ in range(40): display(A())"
        logs = [frame for frame in run(request(script)) if frame["type"] == "log"]
        self.assertEqual(len(logs), 20)

    def test_nothing_is_shown_when_no_script_runs(self):
        with self.assertRaisesRegex(RuntimeError, "no script is running"):
            harness.displays.display("to nobody")

    def test_a_fork_cannot_show(self):
        script = "pid = os.fork()\nif pid == 0: display(1)\nemit_result(os.waitpid(pid, 0)[1] >> 8)"
        frames = run(request(script))
        self.assertEqual([frame["type"] for frame in frames], ["final_result", "script_done"])
        self.assertEqual(frames[0]["data"], 1)


class LastLines(unittest.TestCase):
    def test_a_script_is_taken_apart_only_if_its_last_line_may_have_a_value(self):
        for script in [
            "x = 1",
            "if x:\n    y",
            "print(1)",
            "x.y = 2\n",
            "# x",
            "",
            "\n \n",
            "plt.show()\n# end",
            "'x'",
        ]:
            self.assertIsNone(harness.displays.last_line(script), script)
        for script, start in [
            ("x", 0),
            ("a = 1\nx\n", 6),
            ("f(\n    1,\n)", 10),
            ("\ndf.head()\n\n# end\n", 1),
            ("await f()", 0),
        ]:
            self.assertEqual(harness.displays.last_line(script), start, script)

    def test_a_last_value_is_found_however_it_is_written(self):
        rich = "class A:\n    def _repr_html_(self): return 'x'\n    def f(self, *_): return self\na = A()\n"
        found = [
            "a",
            "a  # shown\n# end\n",
            "a.f(\n    1,\n)\n",
            "b = 1\r\na\r\n",
            "[a][0]",
            "(\n  a\n)",
            "a if a else 1",
        ]
        for last in found:
            self.assertEqual(len(shown(rich + last)), 1, last)
        none = [
            "b = a",
            "b = \\\na",
            "b = (\n a\n)",
            "for b in [a]: b",
            "a; b = 1",
            "if a:\n    a",
            "b = '''\na\n'''",
            "b = '''\na'''",
        ]
        for last in none:
            self.assertEqual(shown(rich + last), [], last)

    def test_a_last_line_that_fails_is_told_with_its_place(self):
        for script, place in [
            ("x = 1\n\nx.gone\n", 3),
            ("x = 1\nx.gone(\n)", 2),
            ("def f():\n    y\n\nf()", 4),
        ]:
            error = run(request(script, mode="script"))[0]
            self.assertIn(f"line {place}, in <module>", error["traceback"])
        error = run(request("x = 1\nif x\nx", mode="script"))[0]
        self.assertRegex(error["message"], r"^SyntaxError: .* \(line 2: if x\)$")

    def test_a_docstring_stays_one(self):
        frames = run(request("'''doc'''", mode="script"), request("emit_result(__doc__)", mode="script"))
        self.assertEqual([frame["type"] for frame in frames], ["script_done", "final_result", "script_done"])
        frames = run(
            request("'''doc'''\nimport atexit\natexit.register(lambda: emit_log(__doc__))", mode="script")
        )
        self.assertEqual(frames[0]["message"], "doc")


class Packages(unittest.TestCase):
    """Packages of the same shape as those that are watched; the real ones are in a suite of their own."""

    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        before, finders, path = set(sys.modules), list(sys.meta_path), list(sys.path)
        self.addCleanup(lambda: [sys.modules.pop(name) for name in set(sys.modules) - before])
        self.addCleanup(sys.meta_path.__setitem__, slice(None), finders)
        self.addCleanup(sys.path.__setitem__, slice(None), path)
        sys.path.insert(0, self.home.name)
        importlib.invalidate_caches()

    def write(self, name, text):
        path = os.path.join(self.home.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_ipythons_display_is_ours_wherever_it_is_imported_from(self):
        self.write("IPython/__init__.py", "")
        self.write("IPython/core/__init__.py", "")
        self.write(
            "IPython/core/display_functions.py",
            "class DisplayHandle:\n    def __init__(self, name): self.name = name\n"
            "def display(*objs, **_): print(*objs)\ndef publish_display_data(data, **_): pass\n",
        )
        self.write("IPython/display.py", "from IPython.core.display_functions import *\n")
        harness.watch.begin()
        script = (
            "from IPython.display import display, publish_display_data\n"
            "emit_log(str(display(1, display_id='a').name))\n"
            "publish_display_data({'text/html': '<b>'})"
        )
        frames = run(request(script))
        self.assertEqual([f["type"] for f in frames], ["display", "log", "display", "script_done"])
        self.assertEqual((frames[0]["data"], frames[1]["message"]), ({"text/plain": "1"}, "a"))
        self.assertEqual(frames[2]["data"], {"text/html": "<b>"})

    def test_a_module_that_is_not_what_we_think_works_as_it_is(self):
        self.write("matplotlib/__init__.py", "")
        self.write("matplotlib/pyplot.py", "ANSWER = 42\n")
        harness.watch.begin()
        self.assertEqual(run(request("import matplotlib.pyplot as p\nemit_result(p.ANSWER)"))[0]["data"], 42)

    def test_watching_begins_once(self):
        harness.watch.begin()
        harness.watch.begin()
        watching = [finder for finder in sys.meta_path if isinstance(finder, harness.watch.Watch)]
        self.assertEqual(len(watching), 1)
        self.assertIsNone(importlib.util.find_spec("matplotlib"))


if __name__ == "__main__":
    unittest.main()
