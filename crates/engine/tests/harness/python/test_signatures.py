"""What is told of tool files without running them."""

import importlib
import json
import textwrap
import unittest

from support import harness  # noqa: F401

signatures = importlib.import_module("belljar_harness.signatures")


def told(source, file="t.py"):
    found = signatures.signatures([(file, textwrap.dedent(source))])
    json.dumps(found)
    return found


def names(source):
    return [each["name"] for each in told(source)]


class Signatures(unittest.TestCase):
    def test_a_function_is_told_whole(self):
        found = told(
            '''
            async def fetch(
                who: "str | None", /, limit: int = 1_000, *rest: dict[str, int], deep=False, **more
            ) -> list[int]:
                """Fetches.

                Well:
                  indented.
                """
            '''
        )
        takes = {"kind": "any", "nullable": False, "options": []}
        parameter = {
            "annotation": None,
            "default": None,
            "required": False,
            "takes": takes,
            "value": [],
            "description": "",
        }
        expected = {
            "name": "fetch",
            "file": "t.py",
            "line": 2,
            "is_async": True,
            "doc": "Fetches.\n\nWell:\n  indented.",
            "description": "Fetches.\n\nWell:\n  indented.",
            "parameters": [
                {
                    **parameter,
                    "name": "who",
                    "kind": "positional_only",
                    "annotation": '"str | None"',
                    "required": True,
                    "takes": {**takes, "kind": "str", "nullable": True},
                },
                {
                    **parameter,
                    "name": "limit",
                    "kind": "positional_or_keyword",
                    "annotation": "int",
                    "default": "1_000",
                    "takes": {**takes, "kind": "int"},
                    "value": [1000],
                },
                {
                    **parameter,
                    "name": "rest",
                    "kind": "var_positional",
                    "annotation": "dict[str, int]",
                    "takes": {**takes, "kind": "dict[str, int]"},
                },
                {**parameter, "name": "deep", "kind": "keyword_only", "default": "False", "value": [False]},
                {**parameter, "name": "more", "kind": "var_keyword"},
            ],
            "returns": "list[int]",
        }
        self.assertEqual(found, [expected])

    def test_a_keyword_without_a_default_is_required(self):
        (found,) = told("def f(a, b=None, *, c, d=0): pass")
        required = {each["name"]: each["required"] for each in found["parameters"]}
        self.assertEqual(required, {"a": True, "b": False, "c": True, "d": False})

    def test_only_public_functions_of_the_module_are_told(self):
        source = """
        from math import sqrt
        def _private(): pass
        class Holder:
            def method(self): pass
        def outer():
            def inner(): pass
        try:
            import fast
        except ImportError:
            def slow(): pass
        else:
            def quick(): pass
        if __name__ == "__main__":
            def main(): pass
        else:
            def imported(): pass
        """
        self.assertEqual(names(source), ["outer", "slow", "quick", "imported"])

    def test_the_last_definition_of_a_name_is_the_one(self):
        found = told("def f(a): pass\ndef g(): pass\ndef f(b): pass")
        self.assertEqual([(each["name"], each["line"]) for each in found], [("g", 2), ("f", 3)])

    def test_text_is_cut_out_by_bytes_and_lines_are_joined_without_comments(self):
        (found,) = told("def f(a='ä', b='ö', c=[  # why\n    1,\n    2]): pass")
        self.assertEqual([each["default"] for each in found["parameters"]], ["'ä'", "'ö'", "[1, 2]"])
        (found,) = told("\ufeffdef f(a=1): pass\r\n")
        self.assertEqual(found["parameters"][0]["default"], "1")
        (found,) = told("x = '''\x0c\x1c\u2028'''\r\ndef f(a=2): pass\r")
        self.assertEqual((found["line"], found["parameters"][0]["default"]), (2, "2"))

    def test_files_keep_their_order_and_one_that_cannot_be_read_is_an_error_entry(self):
        found = signatures.signatures(
            [("b.py", "def b(): pass"), ("bad.py", "x = 1\ndef f(:\n"), ("a.py", "def a(): pass")]
        )
        self.assertEqual([each.get("name") for each in found], ["b", None, "a"])
        self.assertEqual((found[1]["file"], found[1]["line"]), ("bad.py", 2))
        self.assertIn("SyntaxError", found[1]["error"])

    def test_hostile_sources_are_error_entries(self):
        hostile = [
            "(" * 50_000 + ")" * 50_000,
            "-" * 100_000 + "1",
            "def f(a=" + "[" * 5_000 + "]" * 5_000 + "): pass",
            "def f(): '\x00'",
            "def f(): '\ud800'",
            "#" * (signatures.LONGEST_SOURCE + 1),
        ]
        for source in hostile:
            (found,) = told(source)
            self.assertEqual(set(found), {"file", "line", "error"}, source[:20])
            self.assertTrue(found["error"], source[:20])
            self.assertLess(len(found["error"]), 600)

    def test_the_longest_chains_are_no_crash(self):
        """Some versions of Python take them, others do not."""
        room = signatures.LONGEST_SOURCE - 100
        for link in ("+1", ".b", "()", "<1", "**1", "\nelif 0: pass"):
            start = "if 0: pass" if "elif" in link else "a"
            told(start + link * (room // len(link)))
        told("def f(x=(\n" + "a" + "+1" * (room // 2) + ")): pass")

    def test_half_a_character_in_a_literal_is_replaced(self):
        (found,) = told('def f(a="\\ud800", b=(\n"\\ud800")):\n    "\\ud800 half"')
        json.dumps(found).encode("utf-8")
        self.assertEqual(found["doc"], "? half")
        self.assertNotIn("\ud800", "".join(each["default"] for each in found["parameters"]))


if __name__ == "__main__":
    unittest.main()
