# args: -v Calc.test_add
import sys
import unittest


class Calc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print("class set up")

    def test_add(self):
        print("running add")
        self.assertEqual(1 + 1, 2)

    def test_never_selected(self):
        self.fail()

    def tearDown(self):
        print("torn down", file=sys.stdout)


unittest.main()
