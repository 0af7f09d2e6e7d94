"""Has a few packages show things through us, and start processes, from the moment they are imported.

A finder that finds nothing by itself. It only notices the modules below, and a script that imports
none of them does not notice it. A module that is imported ahead is taught in the zygote.
"""

import sys

from . import displays, figures


class Watch:
    """Stands before the other finders."""

    def find_spec(self, name, path=None, target=None):
        teach = _LESSONS.get(name)
        if teach is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                return _with_lesson(spec, teach)
        return None


def begin():
    """From here on imports are noticed."""
    if not any(isinstance(finder, Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, Watch())


def _with_lesson(spec, teach):
    loader = spec.loader
    load = getattr(loader, "exec_module", None)
    if load is None:
        return spec

    def exec_module(module):
        load(module)
        try:
            teach(module)
        except Exception:
            pass  # A version that we do not know works as it is.

    try:
        loader.exec_module = exec_module
    except AttributeError:
        pass
    return spec


def _pyplot(module):
    figures.teach_pyplot(module, displays.display, displays._is_heard)


def _ipython(module):
    if "display" not in vars(module) or module.display.__module__ != module.__name__:
        return

    def display(*objects, display_id=None, **options):
        displays.display(*objects, **options)
        if display_id:
            return module.DisplayHandle(None if display_id is True else display_id)
        return None

    def publish_display_data(data, *_, **__):
        displays.display(data, raw=True)

    display.__doc__ = module.display.__doc__
    module.display, module.publish_display_data = display, publish_display_data


def _plotly(module):
    original = module.show

    def show(figure, renderer=None, validate=True, **options):
        # A renderer that somebody chose is theirs.
        if renderer is not None or not displays._is_heard() or not hasattr(figure, "to_json"):
            return original(figure, renderer=renderer, validate=validate, **options)
        return displays.display(figure)

    show.__doc__ = original.__doc__
    module.show = show


def _spawn(module):
    original = module.get_preparation_data

    def get_preparation_data(name):
        # Few scripts come here.
        from . import spawned

        return spawned.with_main(original(name))

    module.get_preparation_data = get_preparation_data


_LESSONS = {
    "matplotlib.pyplot": _pyplot,
    "IPython.core.display": _ipython,
    "IPython.core.display_functions": _ipython,
    "multiprocessing.spawn": _spawn,
    "plotly.io._renderers": _plotly,
}
