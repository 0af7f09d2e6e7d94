"""What a script shows: `display(x)`, figures, and the value of its last line.

    object ──► rich.forms ──► bundle {mime: data} ──► what fits ──► one frame

Text is sent as text, JSON as JSON, and everything else in base64. How many displays there may be,
and how large they are together, is bounded. What is left out is counted, and the host warns of it.
"""

import os
import re

from . import figures, rich

_MIME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*").fullmatch
_IS_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}").fullmatch
_ALSO_TEXT = ("application/javascript", "application/xml")
_LONGEST_MIME, _MOST_COMPLAINTS = 100, 20
# How data of a type begins. The host looks, too; here the script still learns why.
_BEGINS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n").match,
    "image/jpeg": re.compile(rb"\xff\xd8\xff").match,
    "image/gif": re.compile(rb"GIF8[79]a").match,
    "image/webp": re.compile(rb"RIFF[\s\S]{4}WEBP").match,
    "application/pdf": re.compile(rb"[\s\S]{0,1019}?%PDF-").match,
}
# Lines that end a script and have no value worth a look, at little cost.
_NO_VALUE = re.compile(
    r"""[\s#@"'\d]|[bfru]{1,2}["']|[\w.]+\s*=[^=]|(?:print|plt\.show|sys\.exit|exit|unittest\.main)\("""
).match


def display(*objects, include=None, exclude=None, raw=False, **_):
    """Shows objects: in every form they have, and as text."""
    from . import execution

    current = execution.current()
    for value in objects:
        if raw:
            _send(current, dict(value), value)
        elif not rich.shows_itself(value, _complain(current)):
            _send(current, _bundle(current, value), value, include, exclude)


def show_last(value, is_printed):
    """The value of a last line. Without another form than text there is nothing to show."""
    from . import execution

    current = execution.running
    complain = _complain(current)
    if os.getpid() != current.owner or rich.shows_itself(value, complain):
        return
    found = rich.forms(value, complain)
    text = found.pop("text/plain", None)
    if found:
        if not is_printed:
            found["text/plain"] = rich.text(value, complain) if text is None else text
        _send(current, found, value)


def show_figures():
    """Shows what is open, at the end of a script or a step."""
    if _is_heard():
        figures.show_open(display)


def last_line(script):
    """Where the last line begins that is no comment, if it may be an expression with a value worth a look."""
    end = len(script)
    while end > 0:
        start = script.rfind("\n", 0, end) + 1
        if script[start:end].strip() and script[start] != "#":
            return None if _NO_VALUE(script, start) else start
        end = start - 1
    return None


def _is_heard():
    from . import execution

    return execution.running is not None and execution.running.owner == os.getpid()


def _complain(execution):
    def complain(message):
        # A loop must not drown everything else in its complaints.
        execution.failed_forms += 1
        if execution.failed_forms <= _MOST_COMPLAINTS and os.getpid() == execution.owner:
            execution.log(message[:1000], "warning")

    return complain


def _bundle(execution, value):
    bundle = rich.forms(value, _complain(execution))
    if "text/plain" not in bundle:
        bundle["text/plain"] = rich.text(value, _complain(execution))
    return bundle


def _send(execution, bundle, value, include=None, exclude=None):
    from .values import rules

    wanted = {
        mime: data
        for mime, data in bundle.items()
        if not (include and mime not in include) and not (exclude and mime in exclude)
    }
    room = execution.room_for_displays()
    written, left_out = [], 0
    for mime, data in wanted.items():
        try:
            form = _form(mime, data, room)
        except (TypeError, ValueError) as error:
            shown = mime[:_LONGEST_MIME] if isinstance(mime, str) else mime
            _complain(execution)(f"the form {shown!r} of a {type(value).__name__} is left out: {error}")
            continue
        if form is None:
            left_out += 1
        else:
            written.append(form)
    # Small forms first: the text of a picture that is too large is better than nothing.
    written.sort(key=len)
    fitting = []
    for form in written:
        room -= len(form) + 1
        if room >= 0:
            fitting.append(form)
        else:
            left_out += 1
    if execution.displays >= rules.most_displays:
        fitting, left_out = [], 1
    if fitting or left_out:
        execution.display(b",".join(fitting), left_out)


def _form(mime, data, room):
    """`"mime":data` as JSON in UTF-8; None if it is too long to be looked at."""
    from . import values

    if not isinstance(mime, str) or len(mime) > _LONGEST_MIME or not _MIME(mime):
        raise ValueError("this is no MIME type, such as 'text/html'")
    if is_json(mime):
        return values.text(mime) + b":" + values.to_json(data, "it", 1 << 62)
    if is_text(mime):
        if isinstance(data, (list, tuple)):
            data = "".join(data)
        if not isinstance(data, str):
            raise TypeError(f"it is a {type(data).__name__}, and must be a str")
        return None if len(data) > room else values.text(mime) + b":" + values.text(data)
    return _binary(mime, data, room)


def _binary(mime, data, room):
    import binascii

    if isinstance(data, str):
        # In base64 already, perhaps in lines.
        written = "".join(data.split())
        if not _IS_BASE64(written) or len(written) % 4:
            raise ValueError("it is no base64")
        data = binascii.a2b_base64(written)
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"it is a {type(data).__name__}, and must be bytes or base64")
    size = memoryview(data).nbytes
    if size == 0:
        raise ValueError("it is empty")
    if size * 4 // 3 > room:
        return None
    if mime in _BEGINS and not _BEGINS[mime](bytes(data)):
        raise ValueError(f"it does not begin as {mime} does")
    return b'"%s":"%s"' % (mime.encode("ascii"), binascii.b2a_base64(data, newline=False))


def is_json(mime):
    return mime == "application/json" or mime.endswith("+json")


def is_text(mime):
    return mime.startswith("text/") or mime.endswith("+xml") or mime in _ALSO_TEXT
