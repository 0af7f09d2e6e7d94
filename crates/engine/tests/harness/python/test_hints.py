"""What JSON can say of a parameter, and what a docstring says about it."""

import ast
import importlib
import inspect
import json
import unittest

from support import harness  # noqa: F401

docstrings = importlib.import_module("belljar_harness.docstrings")
hints = importlib.import_module("belljar_harness.hints")


def hint(text):
    found = hints.hint(ast.parse(text, mode="eval").body)
    json.dumps(found, allow_nan=False)
    return found


def kind(text):
    found = hint(text)
    return found["kind"] + ("?" if found["nullable"] else "")


class Hints(unittest.TestCase):
    def test_a_hint_is_a_kind_where_there_is_one(self):
        for text, expected in {
            "str": "str",
            "bytes": "bytes",
            "'int'": "int",
            "typing.List[int]": "list[int]",
            "list[dict[str, float]]": "list[dict[str, float]]",
            "Dict[int, str]": "dict",
            "tuple[int, ...]": "list[int]",
            "tuple[int, str]": "list",
            "Sequence['str']": "list[str]",
            "Optional[bool]": "bool?",
            "str | None": "str?",
            "'None | str'": "str?",
            "Union[int, None]": "int?",
            "int | str": "any",
            "int | str | None": "any?",
            "Annotated[Optional[int], 'x']": "int?",
            "pd.DataFrame": "any",
            "Callable[[int], str]": "any",
            "dict[str, list[Foo]]": "dict[str, list[any]]",
            "None": "any?",
            "x + 1": "any",
            "'not a hint'": "any",
        }.items():
            self.assertEqual(kind(text), expected, text)

    def test_a_deep_hint_ends_somewhere(self):
        self.assertEqual(kind("list[" * 40 + "int" + "]" * 40).count("list"), hints.DEEPEST)
        self.assertEqual(kind(" | ".join(["int"] * 500)), "any")

    def test_a_literal_has_options(self):
        self.assertEqual(hint("Literal['a', 'b', 'a']")["options"], ["a", "b"])
        self.assertEqual(kind("Literal['a', 'b']"), "str")
        self.assertEqual(kind("Literal[1, None]"), "int?")
        self.assertEqual(hint("Literal[1, True, 'x']"), {**hint("x"), "options": [1, True, "x"]})
        self.assertEqual(hint("Literal[Colour.RED]")["options"], [])

    def test_a_note_is_kept(self):
        self.assertEqual(hint("Annotated[str, 5, 'Where.']")["note"], "Where.")

    def test_a_default_is_a_value_where_json_has_it(self):
        def default(text):
            return hints.default(ast.parse(text, mode="eval").body)

        for text in ("None", "True", "-1", "1.5", "'x'", "[1, 'a']", "{'a': [None]}"):
            self.assertEqual(default(text), (True, ast.literal_eval(text)))
        self.assertEqual(default("(1, 2)"), (True, [1, 2]))
        for text in ("f()", "{1}", "{1: 2}", "1e999", "b'x'", "1j", "2**70", str(2**70), "'\\ud800'", "..."):
            self.assertEqual(default(text), (False, None), text)
        self.assertEqual(default("[" * 50 + "]" * 50), (False, None))


class Docstrings(unittest.TestCase):
    def read(self, doc, *names):
        return docstrings.read(inspect.cleandoc(doc), set(names))

    def test_google_style(self):
        description, said = self.read(
            """Looks up.

            Args:
                city: Where, which
                    takes two lines.
                limit (int, optional): How many.
                *rest: More.

            Returns:
                A list: of things.
            """,
            "city",
            "limit",
            "rest",
        )
        self.assertEqual(description, "Looks up.\n\nReturns:\n    A list: of things.")
        self.assertEqual(
            said, {"city": "Where, which takes two lines.", "limit": "How many.", "rest": "More."}
        )

    def test_sphinx_style(self):
        description, said = self.read(
            """Looks up.

            :param str city: Where,
                more exactly.
            :type limit: int
            :param limit: How many.
            :returns: Things.
            """,
            "city",
            "limit",
        )
        self.assertEqual(description, "Looks up.\n\n:returns: Things.")
        self.assertEqual(said, {"city": "Where, more exactly.", "limit": "How many."})

    def test_numpy_style(self):
        description, said = self.read(
            """Looks up.

            Parameters
            ----------
            city : str
                Where.
            a, b : int
                Both.

            Returns
            -------
            list
            """,
            "city",
            "a",
            "b",
        )
        self.assertEqual(description, "Looks up.\n\nReturns\n-------\nlist")
        self.assertEqual(said, {"city": "Where.", "a": "Both.", "b": "Both."})

    def test_what_is_about_something_else_stays(self):
        for doc in (
            "",
            "Args: none.",
            "Args:\n    nobody: x",
            "Parameters\n----------\nnobody",
            ":param x: y",
        ):
            self.assertEqual(docstrings.read(doc, {"city"}), (doc, {}))
        self.assertEqual(docstrings.read(None, set()), ("", {}))


if __name__ == "__main__":
    unittest.main()
