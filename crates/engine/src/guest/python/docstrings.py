"""What a docstring says about a function, and what it says about each parameter.

Three styles are read, as people write them:

    Args:                      :param city: Where.          Parameters
        city: Where.                                        ----------
        limit (int): How many.                              city : str
                                                                Where.

All else stays as it is, in the description.
"""

import re

_GOOGLE = re.compile(r"^(Args|Arguments|Parameters|Params):\s*$")
_NUMPY = re.compile(r"^(Parameters|Other Parameters)\s*$")
_RULE = re.compile(r"^-{3,}\s*$")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:(?:\s+(.*))?$")
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_SPHINX_TYPE = re.compile(r"^:type\s+\*{0,2}\w+\s*:")


def read(doc, names):
    """The description without the parameters, and what is said about each of these names."""
    lines, kept, said = (doc or "").split("\n"), [], {}
    at = 0
    while at < len(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if _GOOGLE.match(lines[at]):
            end, found = _google(lines, at + 1, names)
        elif _NUMPY.match(lines[at]) and _RULE.match(following):
            end, found = _numpy(lines, at + 2, names)
        else:
            end, found = _sphinx(lines, at, names)
        if found is None:
            kept.append(lines[at])
            at += 1
        else:
            for name, text in found.items():
                said.setdefault(name, text)
            at = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n"), said


def _google(lines, at, names):
    """The entries below a heading. `None` for those of something else."""
    found, current, indent = {}, None, None
    while at < len(lines):
        line = lines[at]
        width = len(line) - len(line.lstrip())
        if line.strip():
            if width == 0:
                break
            indent = width if indent is None else indent
            entry = _ENTRY.match(line.strip()) if width <= indent else None
            if entry and entry[1] in names:
                current = entry[1]
                found[current] = [entry[2] or ""]
            elif current is None:
                return at, None
            else:
                found[current].append(line.strip())
        at += 1
    return at, _joined(found)


def _numpy(lines, at, names):
    found, current = {}, []
    while at < len(lines):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if line.strip() and not line.startswith((" ", "\t")):
            entry = _NUMPY_ENTRY.match(line)
            if not entry or _RULE.match(following):
                break
            current = [name.strip().lstrip("*") for name in entry[1].split(",")]
            if not any(name in names for name in current):
                break
            found.update({name: [] for name in current if name in names})
        else:
            for name in current:
                if name in found:
                    found[name].append(line.strip())
        at += 1
    return at, _joined(found)


def _sphinx(lines, at, names):
    if _SPHINX_TYPE.match(lines[at]):
        return at + 1, {}
    entry = _SPHINX.match(lines[at])
    if not entry or entry[1] not in names:
        return at, None
    text = [entry[2]]
    at += 1
    while at < len(lines) and lines[at].startswith((" ", "\t")) and lines[at].strip():
        text.append(lines[at].strip())
        at += 1
    return at, _joined({entry[1]: text})


def _joined(found):
    if not found:
        return None
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}
