"""The forms in which an object can show itself, as notebooks know them.

    object ──► forms ──► {mime type: text, bytes or JSON}

An object says them itself, by `_repr_mimebundle_`, `_repr_html_` and so on. Figures of matplotlib
and plotly are known here, because theirs depend on the notebook around them.
"""

import sys

from . import figures

# JPEG last: a picture that can be PNG is not sent twice.
_METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
    ("_repr_javascript_", "text/javascript"),
    ("_repr_pdf_", "application/pdf"),
    ("_repr_jpeg_", "image/jpeg"),
)
# Most values that people look at are one of these, and have no other form.
_PLAIN = frozenset((bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type))
PLOTLY = "application/vnd.plotly.v1+json"


def forms(value, complain):
    """Every form but the `repr`. A form that fails is left out, and `complain` is told why."""
    kind = type(value)
    if kind in _PLAIN:
        return {}
    if figures.is_figure(value):
        png = _asked(value, "savefig", figures.as_png, complain)
        return {} if png is None else {"image/png": png}
    if _is_plotly(value):
        return {
            mime: form
            for mime, form in (
                (PLOTLY, _asked(value, "to_json", _plotly_json, complain)),
                ("text/html", _asked(value, "to_html", _plotly_html, complain)),
            )
            if form is not None
        }
    found = {}
    bundle = _method(kind, "_repr_mimebundle_")
    if bundle is not None:
        told = _asked(value, bundle.__name__, lambda of: bundle(of, include=None, exclude=None), complain)
        if isinstance(told, dict):
            found.update(told)
        elif told is not None:
            complain(f"_repr_mimebundle_ of a {kind.__name__} gave a {type(told).__name__}, not a dict")
    for name, mime in _METHODS:
        method = _method(kind, name)
        if method is None or mime in found or (mime == "image/jpeg" and "image/png" in found):
            continue
        told = _asked(value, name, method, complain)
        if told is not None:
            found[mime] = told
    return found


def text(value, complain):
    """The form that every object has."""
    try:
        return repr(value)
    except Exception as error:
        complain(f"the repr of a {type(value).__name__} raised {type(error).__name__}")
        return f"<{type(value).__name__} without a repr>"


def shows_itself(value, complain):
    """Lets an object show itself that wants to, such as a widget. Whether it did."""
    method = _method(type(value), "_ipython_display_")
    # Without a notebook around it, a chart of plotly's would print itself.
    if method is None or _is_plotly(value):
        return False
    try:
        method(value)
    except NotImplementedError:
        return False
    except Exception as error:
        complain(f"_ipython_display_ of a {type(value).__name__} raised {type(error).__name__}")
        return False
    return True


def _method(kind, name):
    # Of the class: an object that answers to every name would seem to have them all. A property or
    # None is no method.
    method = getattr(kind, name, None)
    return method if callable(method) else None


def _asked(value, name, method, complain):
    try:
        told = method(value)
    except NotImplementedError:
        return None
    except Exception as error:
        try:
            said = str(error)
        except Exception:
            said = "it cannot say why"
        complain(f"{name} of a {type(value).__name__} raised {type(error).__name__}: {said}")
        return None
    # Some give what describes the form beside it.
    return told[0] if isinstance(told, tuple) and told else told


def _is_plotly(value):
    module = sys.modules.get("plotly.basedatatypes")
    return module is not None and isinstance(value, getattr(module, "BaseFigure", ()))


def _plotly_json(figure):
    import json

    return json.loads(figure.to_json())


def _plotly_html(figure):
    # With the library inside, it would be four megabytes.
    return figure.to_html(full_html=False, include_plotlyjs="cdn")
