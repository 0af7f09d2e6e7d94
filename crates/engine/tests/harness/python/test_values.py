"""Values as JSON: what comes out, and what a script is told when nothing can."""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import types
import unittest
import uuid

from support import harness

values = harness.values


def told(value, most=1 << 20, strict=True):
    try:
        values.to_json(value, "data", most, strict)
    except (TypeError, ValueError) as error:
        return str(error)
    raise AssertionError(f"{value!r} is JSON")


class Encoding(unittest.TestCase):
    def test_what_json_can_hold_is_written_compactly(self):
        for value, expected in [
            (None, b"null"),
            ({"a": [1, 2.5, "x"], 1: None}, b'{"a":[1,2.5,"x"],"1":null}'),
            ("é😀\n\x00", '"é😀\\n\\u0000"'.encode()),
            ((1, 2), b"[1,2]"),
            (10**40, b"1" + b"0" * 40),
        ]:
            self.assertEqual(values.to_json(value, "data", 100), expected)

    def test_the_first_part_that_cannot_be_held_is_named(self):
        for value, expected in [
            (
                {"a": {"b": b"x"}},
                "data['a']['b'] is a bytes, which JSON cannot hold; use .decode() or base64",
            ),
            ([1, math.inf], "data[1] is inf, and JSON has no such number"),
            ({"a": [{1, 2}]}, "data['a'][0] is a set, which JSON cannot hold; use list(…)"),
            ({(1, 2): 3}, "data has the key (1, 2), a tuple; JSON keys are text"),
            (datetime.date(2020, 1, 1), "data is a datetime.date, which JSON cannot hold; use .isoformat()"),
            (decimal.Decimal(1), "data is a decimal.Decimal, which JSON cannot hold; use float(…) or str(…)"),
            (object(), "data is a object, which JSON cannot hold"),
        ]:
            self.assertEqual(told(value), expected)

    def test_a_lone_surrogate_is_named(self):
        self.assertIn("lone surrogate ('\\ud800')", told({"a": "\ud800"}))

    def test_the_encoder_works_again_after_a_failure(self):
        """The one in C remembers where it was when it failed."""
        shared = [object()]
        told(shared)
        shared[0] = 1
        self.assertEqual(values.to_json(shared, "data", 10), b"[1]")

    def test_a_cycle_is_named_where_it_closes(self):
        value = {"a": []}
        value["a"].append(value)
        self.assertEqual(told(value), "data['a'][0] refers back to a value that contains it")

    def test_a_value_longer_than_all_output_is_refused(self):
        self.assertIn("is 102 bytes as JSON, and all output together may be 50", told("x" * 100, 50))


class Conversions(unittest.TestCase):
    def test_what_json_has_no_word_for_is_converted(self):
        class Colour(enum.Enum):
            RED = "red"

        @dataclasses.dataclass
        class Point:
            x: int
            y: object

        pair = collections.namedtuple("pair", "a b")
        for value, expected in [
            (datetime.datetime(2026, 1, 2, 3, 4, 5, 6), "2026-01-02T03:04:05.000006"),
            (datetime.date(2026, 1, 2), "2026-01-02"),
            (datetime.time(1, 2), "01:02:00"),
            (datetime.timedelta(minutes=1.5), 90.0),
            (decimal.Decimal("1.10"), "1.10"),
            (fractions.Fraction(1, 3), "1/3"),
            (pathlib.PurePosixPath("/a/b"), "/a/b"),
            (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
            (Colour.RED, "red"),
            (Point(1, {3, 1, 2}), {"x": 1, "y": [1, 2, 3]}),
            (pair(1, 2), [1, 2]),
            ({1, "a"}, [1, "a"]),
            (b"hi", {"__bytes__": "aGk="}),
            (bytearray(b"hi"), {"__bytes__": "aGk="}),
            (1 + 2j, {"real": 1.0, "imag": 2.0}),
            (types.SimpleNamespace(a=1), {"a": 1}),
            (types.MappingProxyType({"a": 1}), {"a": 1}),
            (collections.deque([1]), [1]),
            (range(3), [0, 1, 2]),
            ({"a": 1}.keys(), ["a"]),
            (array.array("i", [1, 2]), [1, 2]),
            (harness.namespace.ToolResponse(data={1}), {"success": True, "data": [1], "message": ""}),
            (
                {datetime.date(2026, 1, 2): 1, Colour.RED: {decimal.Decimal(2): {3}}},
                {"2026-01-02": 1, "red": {"2": [3]}},
            ),
        ]:
            self.assertEqual(json.loads(values.to_json(value, "data", 1 << 20)), expected)

    def test_what_cannot_be_converted_is_named(self):
        @dataclasses.dataclass
        class Node:
            next: object = None

        class Broken:
            def tolist(self):
                raise ValueError("not today")

        loop = Node()
        loop.next = loop
        for value, expected in [
            ({"a": Node([object()])}, "data['a']['next'][0] is a object, which JSON cannot hold"),
            ({"a": {1, math.inf}}, "data['a'][1] is inf, and JSON has no such number"),
            (loop, "data['next'] refers back to a value that contains it"),
            ({(1, 2): 3}, "data has the key (1, 2), a tuple; JSON keys are text"),
            (Node, "data is a type, which JSON cannot hold"),
            ((n for n in ()), "data is a generator, which JSON cannot hold; use list(…)"),
            ([Broken()], "could not be converted: ValueError: not today"),
        ]:
            self.assertIn(expected, told(value, strict=False))

    def test_keys_that_are_one_in_json_are_named(self):
        class Number(enum.Enum):
            ONE = 1
            A = "a"

        class Frozen(collections.UserDict):
            pass

        for value, keys in [
            ({1: 0, "1": 0}, "1 and '1', which are both '1'"),
            ({"a": [{None: 0, "null": 0}]}, "None and 'null', which are both 'null'"),
            ({"true": 0, True: 0}, "'true' and True, which are both 'true'"),
            ({1.5: 0, "1.5": 0}, "1.5 and '1.5', which are both '1.5'"),
            ([{"deep": {2: 0, "2": 0}}], "2 and '2', which are both '2'"),
        ]:
            for strict in (True, False):
                self.assertIn(f" has the keys {keys} in JSON; rename one", told(value, strict=strict))
        for value, keys in [
            ({Number.ONE: 0, "1": 0}, "<Number.ONE: 1> and '1', which are both '1'"),
            ({Number.A: 0, "a": 0}, "<Number.A: 'a'> and 'a', which are both 'a'"),
            ({Number.ONE: 0, 1: 0}, "<Number.ONE: 1> and 1, which are both '1'"),
            (
                {datetime.date(2026, 1, 2): 0, "2026-01-02": 0},
                "datetime.date(2026, 1, 2) and '2026-01-02', which are both '2026-01-02'",
            ),
            ({"a": Frozen({1: 0, "1": 0})}, "1 and '1', which are both '1'"),
        ]:
            self.assertIn(f" has the keys {keys} in JSON; rename one", told(value, strict=False))
        self.assertIn("data has the key nan, and JSON has no such number", told({math.nan: 0}))
        self.assertIn("data has the key inf, and", told({math.inf: 0, Number.A: 0}, strict=False))

    def test_keys_that_python_takes_for_one_are_two_in_json(self):
        class Number(enum.Enum):
            ONE = 1

        for value, expected in [
            ({Number.ONE: "a", True: "b"}, {"1": "a", "true": "b"}),
            ({"x1": 1, "2": 2, 3: 3, None: 4, "nul": 5}, {"x1": 1, "2": 2, "3": 3, "null": 4, "nul": 5}),
        ]:
            self.assertEqual(json.loads(values.to_json(value, "data", 1000)), expected)

    def test_a_deep_value_behind_a_conversion_is_too_deep(self):
        @dataclasses.dataclass
        class Node:
            next: object = None

        chain = None
        for _ in range(5000):
            chain = Node(chain)
        self.assertIn("nested deeper than 60 levels", told(chain, strict=False))


class Rules(unittest.TestCase):
    def nested(self, depth):
        value = []
        for _ in range(depth - 1):
            value = [value]
        return value

    def test_values_may_be_as_deep_as_the_rules_say_and_not_deeper(self):
        self.assertEqual(json.loads(values.to_json(self.nested(60), "data", 1000)), self.nested(60))
        self.assertIn("nested deeper than 60 levels", told(self.nested(61)))
        self.assertIn("nested deeper than 60 levels", told(self.nested(100_000)))

    def test_integers_may_be_as_long_as_the_rules_say_and_not_longer(self):
        longest = int("9" * 4000)
        self.assertEqual(values.to_json(longest, "data", 5000), b"9" * 4000)
        self.assertIn("holds an integer of more than 4000 digits", told([longest * 10]))

    def test_brackets_and_digits_in_text_are_text(self):
        for text in ["[" * 500, "{" * 500, "1" * 9000, '\\"' + "[" * 500, "\\" + "[" * 500 + '"']:
            self.assertEqual(json.loads(values.to_json({"t": text}, "data", 1 << 20)), {"t": text})


class Text(unittest.TestCase):
    def test_any_text_becomes_a_json_string(self):
        self.assertEqual(values.text('a"\n'), b'"a\\"\\n"')
        self.assertEqual(json.loads(values.text("x\ud800")), "x\\ud800")

    def test_long_text_says_how_much_is_missing(self):
        self.assertEqual(values.shorten("abcdef", 4), "abcd… (2 more characters)")
        self.assertEqual(values.shorten("abcd", 4), "abcd")


if __name__ == "__main__":
    unittest.main()
