# stdin: 1 + 2 * 3\n(4 - 6) * -2.5\n2 ^ 3 ^ 2\n1 / 0\n2 +\n
"""A recursive descent calculator."""

import re
import sys


class Parser:
    def __init__(self, text):
        self.tokens = re.findall(r"\d+\.?\d*|[-+*/^()]", text)
        self.pos = 0

    def peek(self):
        return self.tokens[self.pos] if self.pos < len(self.tokens) else None

    def take(self):
        token = self.peek()
        if token is None:
            raise SyntaxError("unexpected end")
        self.pos += 1
        return token

    def expr(self):
        value = self.term()
        while self.peek() in ("+", "-"):
            value = value + self.term() if self.take() == "+" else value - self.term()
        return value

    def term(self):
        value = self.power()
        while self.peek() in ("*", "/"):
            value = value * self.power() if self.take() == "*" else value / self.power()
        return value

    def power(self):
        base = self.atom()
        if self.peek() == "^":
            self.take()
            return base ** self.power()
        return base

    def atom(self):
        token = self.take()
        if token == "-":
            return -self.atom()
        if token == "(":
            value = self.expr()
            self.take()
            return value
        return float(token)


for line in sys.stdin:
    try:
        print(line.strip(), "=", Parser(line).expr())
    except (ArithmeticError, SyntaxError) as e:
        print(line.strip(), "->", type(e).__name__, e)
