"""Questions about a session: what is found, and that nothing of the session runs for it."""

import types
import unittest

from support import Host, harness, request, run


def session(source):
    """A session in which this has run. `ran` collects what ran in it."""
    module = types.ModuleType("__main__")
    module.__dict__.update(harness.namespace.base_globals, ran=[])
    exec(source, module.__dict__)
    return module


def ask(module, about, line=None):
    host = Host()
    try:
        question = {"type": "ask", "seal": "s-9", "about": about, "text": line, "timeout": 5.0}
        harness.cell._answer(host.channel, question, module)
        (frame,) = host.frames()
    finally:
        host.close()
    assert frame["type"] == "answer" and frame["seal"] == "s-9", frame
    return frame["data"]


def completed(source, line):
    """The line with each of its ends."""
    found = ask(session(source), "completions", line)
    return [line[: len(line) - found["replace"]] + match for match in found["matches"]]


class Completions(unittest.TestCase):
    def test_names_attributes_keys_and_modules_are_found(self):
        source = (
            "import os\nalpha = alpine = 1\nclass P:\n    __slots__ = ('left',)\n    shared = 1\n"
            "class Q:\n    def __init__(self): self.inner = P(); self.inner.left = 'x'\n"
            "q = Q()\nd = {'one': 1, 'once': 2, 'it\\'s': 3, 'ove\\nr': 4, 5: 6}"
        )
        for line, expected in [
            ("alp", ["alpha", "alpine"]),
            ("print(alph", ["print(alpha"]),
            ("q.in", ["q.inner"]),
            ("q.inner.l", ["q.inner.left"]),
            ("q.inner.left.upp", ["q.inner.left.upper"]),
            ("P.sh", ["P.shared"]),
            ("os.path.joi", ["os.path.join"]),
            ("d['on", ["d['once", "d['one"]),
            ('x = d["o', ['x = d["once', 'x = d["one']),
            ("import json, asynci", ["import json, asyncio"]),
            ("from os import getcw", ["from os import getcwd", "from os import getcwdb"]),
            ("lamb", ["lambda"]),
            ("'abc'.up", None),
            ("f().up", None),
            ("1.re", None),
            ("gone.x", []),
            ("q.gone.x", []),
        ]:
            if expected is None:
                self.assertIsNone(ask(session(source), "completions", line), line)
            else:
                self.assertEqual(completed(source, line), expected, line)

    def test_private_names_are_found_by_those_who_begin_them(self):
        source = "class P:\n    _hidden = open_ = 1\np = P()"
        self.assertEqual(completed(source, "p."), ["p.open_"])
        self.assertEqual(completed(source, "p._h"), ["p._hidden"])

    def test_nothing_of_the_session_runs(self):
        source = """
class Meta(type):
    __name__ = property(lambda self: ran.append('meta name') or 'x')
    def __getattribute__(self, name): ran.append('meta ' + name); return type.__getattribute__(self, name)
    def __dir__(self): ran.append('meta dir'); return []
class Trap(metaclass=Meta):
    plain = 1
    value = property(lambda self: ran.append('property'))
    def __getattribute__(self, name): ran.append(name); return object.__getattribute__(self, name)
    def __getattr__(self, name): ran.append(name)
    def __dir__(self): ran.append('dir'); return []
    def __repr__(self): ran.append('repr'); return ''
    def __len__(self): ran.append('len'); return 0
    def __bool__(self): ran.append('bool'); return True
    def __eq__(self, other): ran.append('eq'); return True
    __hash__ = None
class Keys(dict):
    def keys(self): ran.append('keys'); return []
    def __iter__(self): ran.append('iter'); return iter(())
t, k = Trap(), Keys(only=1)
ran.clear()
"""
        module = session(source)
        for line, expected in [
            ("t.pl", ["plain"]),
            ("t.value.re", []),
            ("t.other.re", []),
            ("Trap.pl", ["plain"]),
            ("t['x", []),
            ("k['on", ["only"]),
        ]:
            self.assertEqual(ask(module, "completions", line)["matches"], expected, line)
        told = {each["name"]: each for each in ask(module, "variables")}
        self.assertEqual((told["t"]["kind"], told["t"]["summary"]), ("Trap", None))
        self.assertEqual(module.ran, [])

    def test_what_the_session_broke_is_an_answer_of_nothing(self):
        self.assertIsNone(ask("not a module", "completions", "a"))
        self.assertIsNone(ask(session(""), "something else"))

    def test_answers_are_bounded(self):
        module = session("globals().update((f'n{number}', number) for number in range(5000))")
        for found in (ask(module, "completions", "n")["matches"], ask(module, "variables")):
            self.assertEqual(len(found), harness.inquiry.MOST)


class Variables(unittest.TestCase):
    def test_what_steps_have_made_is_told_and_what_was_there_is_not(self):
        source = (
            "import json, math as m\nx = 20\ntext = 'y' * 100\nitems = [1]\n_private = 1\n"
            "def f(a, b=1, *, c): pass\nclass K: pass\nhuge = 10 ** 5000\njson = 1"
        )
        told = {each["name"]: (each["kind"], each["summary"]) for each in ask(session(source), "variables")}
        self.assertEqual(told.pop("ran"), ("list", "0 items"))
        self.assertEqual(
            told,
            {
                "x": ("int", "20"),
                "text": ("str", f"'{'y' * 60}'… (100)"),
                "items": ("list", "1 item"),
                "f": ("function", "(a, b, c)"),
                "K": ("type", "K"),
                "huge": ("int", "16610 bits"),
                "json": ("int", "1"),
                "m": ("module", None),
            },
        )


class LastValue(unittest.TestCase):
    def steps(self, *scripts):
        return [
            frame["data"]
            for frame in run(*(request(script, mode="interactive") for script in scripts))
            if frame["type"] == "final_result"
        ]

    def setUp(self):
        import builtins

        self.addCleanup(builtins.__dict__.pop, "_", None)

    def test_the_last_value_is_kept_and_none_is_not_one(self):
        self.assertEqual(self.steps("6 * 7", "None", "x = 1", "emit_result(_ + 1)"), [43])

    def test_a_variable_of_that_name_wins(self):
        self.assertEqual(self.steps("_ = 'mine'", "6 * 7", "emit_result(_)"), ["mine"])
        self.assertEqual(self.steps("6 * 7", "_ = 'mine'", "del _", "emit_result(_)"), [42])


if __name__ == "__main__":
    unittest.main()
