import unittest


def slugify(text):
    return "-".join(text.lower().split())


class SlugTest(unittest.TestCase):
    def setUp(self):
        self.text = "Hello Big World"

    def test_basic(self):
        self.assertEqual(slugify(self.text), "hello-big-world")

    def test_empty(self):
        self.assertEqual(slugify(""), "")

    def test_raises(self):
        with self.assertRaises(AttributeError):
            slugify(None)

    @unittest.skip("later")
    def test_later(self):
        self.fail()

    def test_parts(self):
        for s in ("a b", "c d"):
            with self.subTest(s=s):
                self.assertIn("-", slugify(s))


if __name__ == "__main__":
    unittest.main()
