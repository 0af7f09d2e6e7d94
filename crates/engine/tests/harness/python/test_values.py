"""Values as JSON: what comes out, and what a script is told when nothing can."""

import datetime
import decimal
import json
import math
import unittest

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
