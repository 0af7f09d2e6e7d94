"""The code of a script, and that of its last expression by itself."""

import ast

from . import displays

#: Where the value of a last expression is kept, if all of a script runs in one piece.
LAST = "__belljar_last__"


def compiled(script, name, mode, flags=0):
    return compile(script, name, mode, flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def of_step(script, name):
    """The code of a script, and that of a last expression by itself, or None."""
    tree, last = _split(script, name)
    return compiled(tree, name, "exec"), last and compiled(ast.Expression(last.value), name, "eval")


def of_program(script, name):
    """The same for a program, at less cost: few of them end in a value that anybody wants to see."""
    start = displays.last_line(script)
    if start is not None:
        try:
            if script[start] in ")]}":
                return of_step(script, name)
            line = "\n" * script.count("\n", 0, start) + script[start:]
            return compiled(script[:start], name, "exec"), compiled(line, name, "eval")
        except (SyntaxError, RecursionError):
            pass  # It is no expression, or something is wrong that is told below.
    return compiled(script, name, "exec"), None


def keeping_last(script, name):
    """The code of a whole script, which keeps the value of its last expression."""
    tree, last = _split(script, name)
    target = ast.copy_location(ast.Name(LAST, ast.Store()), last)
    tree.body.append(ast.copy_location(ast.Assign([target], last.value), last))
    return compiled(tree, name, "exec")


def _split(script, name):
    tree = compiled(script, name, "exec", ast.PyCF_ONLY_AST)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    return tree, last
