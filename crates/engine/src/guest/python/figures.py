"""Figures of matplotlib: as pictures, when they are shown and when a script ends.

Nothing here imports matplotlib. Where it is loaded, its modules are in `sys.modules`.
"""

import io
import sys

# Figures that were shown and may still be open.
_shown = None


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, getattr(module, "Figure", ()))


def as_png(figure):
    """As notebooks show it: cut to what is drawn."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=figure.dpi, bbox_inches="tight")
    _note_as_shown(figure)
    return picture.getvalue()


def show_open(show):
    """Shows every figure that pyplot knows and nobody has seen as it is now. Then pyplot forgets them.

    A script that goes on plotting gets a new figure. Its own references stay good.
    """
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None or not hasattr(helpers, "Gcf"):
        return
    for manager in list(helpers.Gcf.get_all_fig_managers()):
        figure = manager.canvas.figure
        if not _was_shown(figure) and (figure.axes or figure.texts or figure.images or figure.lines):
            show(figure)
        helpers.Gcf.destroy(manager.num)


def teach_pyplot(pyplot, show, is_heard):
    """Has `plt.show()` and `figure.show()` show figures. Without a script they do what they did."""
    original = pyplot.show

    def show_all(*arguments, **named):
        if not is_heard():
            return original(*arguments, **named)
        block = arguments[0] if arguments else named.get("block")
        # Without waiting, as `plt.pause` does for each frame: it is still being drawn. What is
        # left of it is shown at the end.
        if block is None or block:
            show_open(show)
        return None

    show_all.__name__, show_all.__qualname__, show_all.__doc__ = "show", "show", original.__doc__
    show_all.__wrapped__ = original
    pyplot.show = show_all

    base = sys.modules["matplotlib.backend_bases"].FigureManagerBase
    unseen = base.show

    def show_one(manager):
        if not is_heard():
            return unseen(manager)
        show(manager.canvas.figure)
        return None

    base.show = show_one


def _note_as_shown(figure):
    global _shown
    if _shown is None:
        import weakref

        _shown = weakref.WeakSet()
    _shown.add(figure)
    # Set again by whatever changes it.
    figure.stale = False


def _was_shown(figure):
    return _shown is not None and figure in _shown and not figure.stale
