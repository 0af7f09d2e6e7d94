"""Errors as text: for the script's author, and for whoever reads a warning."""

import os
import traceback

from .values import shorten

_HOME = os.path.dirname(__file__)

#: How long somebody else's text may be in a line of ours.
LONGEST_LINE = 500


def trace(error):
    """The traceback without the frames of this package, which are no business of the script's author."""
    try:
        shown = traceback.TracebackException.from_exception(error)
        told = [shown]
        while told:
            part = told.pop()
            part.stack = traceback.StackSummary.from_list(
                [frame for frame in part.stack if not _is_ours(frame)]
            )
            told.extend(linked for linked in (part.__cause__, part.__context__) if linked is not None)
        return "".join(shown.format())
    except Exception as again:  # An exception's own __str__ may raise.
        return f"{type(error).__name__} (its traceback could not be shown: {type(again).__name__})\n"


def _is_ours(frame):
    return os.path.dirname(frame.filename) == _HOME


def own_frames(entry):
    """What is left of a traceback without the frames of this package that it begins with."""
    while entry is not None and os.path.dirname(entry.tb_frame.f_code.co_filename) == _HOME:
        entry = entry.tb_next
    return entry


def with_line(summary, error, script):
    """The summary of an error and, of a syntax error in a script, the line it is in."""
    if isinstance(error, SyntaxError) and error.lineno and error.filename == script:
        return f"{summary} (line {error.lineno}: {shorten((error.text or '').strip(), 200)})"
    return summary


def cause(error, path=None):
    """One line: what went wrong and, for a file, where in it."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    if line is None and path is not None:
        for frame in traceback.extract_tb(error.__traceback__):
            line = frame.lineno if frame.filename == path else line
    try:
        said = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:
        said = "it cannot say why"
    text = one_line(f"{type(error).__name__}: {said}")
    return text if line is None else f"line {line}: {text}"


def one_line(text):
    """Somebody else's text as a part of a line of ours: bounded, printable in one line, whole Unicode."""
    shown = " ".join(text[: 2 * LONGEST_LINE].split()).encode("utf-8", "replace").decode("utf-8")
    return shown if len(text) <= LONGEST_LINE else shown[:LONGEST_LINE] + "…"
