# files: poem.txt
import difflib
import string
import sys

a = open("poem.txt").read().splitlines(keepends=True)[:4]
b = [line.replace("yellow", "golden") for line in a if "sorry" not in line]
sys.stdout.writelines(difflib.unified_diff(a, b, "before", "after"))
print(round(difflib.SequenceMatcher(None, "kitten", "sitting").ratio(), 3))
print(difflib.get_close_matches("appel", ["ape", "apple", "peach"]))
t = string.Template("Dear $name, you owe ${amount} EUR ($$).")
print(t.substitute(name="Ada", amount=5))
print(t.safe_substitute(name="Bob"))
t.substitute(name="Eve")
