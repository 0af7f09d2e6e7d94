"""Writes stubs of the tools of a sandbox, as scripts in it see them.

Reads `tools.json`, a list of names. Its result is the text.
"""

import inspect
import json

LONGEST_SIGNATURE, LONGEST_DOC = 1000, 2000


def stub(name, function):
    try:
        signature = str(inspect.signature(function))
    except (TypeError, ValueError):
        signature = ""
    if not signature or len(signature) > LONGEST_SIGNATURE:
        signature = "(*args, **kwargs)"
    doc = (inspect.getdoc(function) or "").strip()[:LONGEST_DOC]
    if not doc:
        return f"def {name}{signature}: ..."
    doc = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = [f"    {line}".rstrip() for line in f'"""{doc}"""'.split("\n")]
    return "\n".join([f"def {name}{signature}:", *lines])


with open("tools.json", encoding="utf-8") as file:
    names = json.load(file)
emit_result("\n\n".join(stub(name, globals()[name]) for name in names if name in globals()))  # noqa: F821
