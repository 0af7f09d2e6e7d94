# A byte order mark, and lines that end as on Windows.
import sys

text = """two
lines"""
if __name__ == "__main__":
    print(repr(text), len(sys.argv))
    print("café")
