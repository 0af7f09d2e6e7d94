"""Looks at a script that a model wrote. The script is a file and does not run.

Reads `candidate.txt` and `rules.json`. Its result is a list of `{"line", "rule", "message"}`, by line.
It must run on every Python that cells have, from 3.9 on.
"""

import ast
import json
import warnings

#: What a function is given that wants a value. Others may take a function itself, as `map` does.
TAKES_VALUES = {"emit_result", "emit_intermediate", "emit_log", "print", "display", "str", "repr", "len"}
#: Findings after so many say nothing new.
MOST = 20


def look(source, rules):
    warnings.simplefilter("ignore")
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        tree = compile(source, "<script>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        compile(tree, "<script>", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line, text = getattr(error, "lineno", None) or 1, getattr(error, "text", None)
        shown = f": {text.strip()[:200]}" if text and text.strip() else ""
        return [finding(line, "syntax", f"{type(error).__name__}: {getattr(error, 'msg', error)}{shown}")]
    except (RecursionError, MemoryError):
        return [finding(1, "syntax", "the script is nested too deeply for Python to read it")]
    nodes = list(ast.walk(tree))
    found = forbidden_calls(nodes, rules["forbidden_calls"])
    tools = set(rules["tools"])
    hidden = hidden_names(nodes, tools | {"emit_result", "emit_intermediate", "emit_log"})
    if rules["nothing_is_hidden"]:
        found += [
            finding(line, "hides_tool", f"`{name}` is there already; do not define your own, just call it")
            for name, line in hidden.items()
        ]
    if rules["tools_are_called"]:
        found += not_called(nodes, tools - set(hidden))
    if rules["must_emit"] and not any(is_name(node, {"emit_result"}) for node in nodes):
        last = max(len(source.splitlines()), 1)
        found.append(finding(last, "no_result", "the script never calls emit_result(…): end it with that"))
    return sorted(found, key=lambda each: each["line"])[:MOST]


def finding(line, rule, message):
    return {"line": line, "rule": rule, "message": message}


def is_name(node, names):
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names


def imported(nodes):
    """What names that the script imports stand for: `{"sh": "os.system"}`."""
    names = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update((each.asname, each.name) for each in node.names if each.asname)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)
    return names


def dotted(node, names):
    """`os.system` for the expression that says so, or nothing."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    whole = ".".join([names.get(node.id, node.id), *reversed(parts)])
    return whole[len("builtins.") :] if whole.startswith("builtins.") else whole


def forbidden_calls(nodes, forbidden):
    names, forbidden = imported(nodes), set(forbidden)
    calls = [(node.lineno, dotted(node.func, names)) for node in nodes if isinstance(node, ast.Call)]
    return [
        finding(line, "forbidden_call", f"`{name}` must not be called here: do it another way")
        for line, name in calls
        if name in forbidden
    ]


def hidden_names(nodes, given):
    """Functions and classes of the script that take the place of one that is there, by name."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name: node.lineno for node in nodes if isinstance(node, kinds) and node.name in given}


def not_called(nodes, tools):
    """Places where a tool stands and a call of it was meant."""
    used = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Call) and not is_name(node.func, TAKES_VALUES):
            used.update(each.id for each in arguments(node) if isinstance(each, ast.Name))
    found = []
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            # `f = search` and then `f("x")` is all right.
            is_alias = any(isinstance(each, ast.Name) and each.id in used for each in targets)
            found += [] if is_alias else [node.value]
        elif isinstance(node, ast.Expr):
            found.append(node.value)
        elif isinstance(node, ast.Attribute) and node.attr in ("success", "data", "message"):
            found.append(node.value)
        elif isinstance(node, ast.Call) and is_name(node.func, TAKES_VALUES):
            found += arguments(node)
    message = "`{0}` is a function and is not called here: write {0}(…)"
    places = {(node.lineno, node.id) for node in found if is_name(node, tools)}
    return [finding(line, "tool_not_called", message.format(name)) for line, name in sorted(places)]


def arguments(call):
    return [*call.args, *(each.value for each in call.keywords)]


with open("candidate.txt", encoding="utf-8", newline="") as file:
    candidate = file.read()
with open("rules.json", encoding="utf-8") as file:
    emit_result(look(candidate, json.load(file)))  # noqa: F821
