import io
import sys
import unittest


class Broken(unittest.TestCase):
    def test_fails(self):
        self.assertEqual(1 + 1, 3)

    def test_errors(self):
        raise KeyError("x")

    def test_ok(self):
        self.assertTrue(True)


if __name__ == "__main__":
    stream = io.StringIO()
    runner = unittest.TextTestRunner(stream=stream, verbosity=2)
    result = runner.run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    print(sorted(line.split(" ")[0] for line in stream.getvalue().splitlines() if " ... " in line))
    print(len(result.failures), len(result.errors), result.testsRun)
    sys.exit(not result.wasSuccessful())
