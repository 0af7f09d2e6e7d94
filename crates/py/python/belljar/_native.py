"""The native module, where there is one.

Importing `belljar` never fails. On a machine without the native module, the first use says why, and
what does work there.
"""

from __future__ import annotations

import importlib
import platform
import sys
from typing import TYPE_CHECKING, Any

from .errors import Unavailable

if TYPE_CHECKING:
    from . import _belljar as native
else:
    try:
        # Not `from . import`, which calls a module that is not there a circular import.
        native = importlib.import_module("._belljar", __package__)
    except ImportError as error:

        class _Missing:
            """Says so when it is used."""

            def __init__(self, why: BaseException) -> None:
                self._why = why

            def __getattr__(self, name: str) -> Any:
                raise Unavailable(explain(self._why)) from self._why

        native = _Missing(error)

__all__ = ["explain", "is_there", "native"]


def is_there() -> bool:
    """Whether there is a native module."""
    return type(native).__name__ != "_Missing"


def explain(error: BaseException) -> str:
    """Why there is no native module, and what to do."""
    system, machine = platform.system(), platform.machine()
    if system != "Linux":
        return (
            f"Belljar makes sandboxes of Linux, and this is {system}. Run this program on Linux: in a "
            "virtual machine (WSL 2, Lima, Colima), or in a container that has Docker's socket, with "
            'Runtime(engine="docker"). Or talk to a Belljar server on another machine.'
        )
    version = ".".join(map(str, sys.version_info[:3]))
    return (
        f"Belljar's native module is missing or does not load here ({error}). There are wheels for "
        f"CPython 3.9 and later on x86_64 Linux with glibc; this is {platform.python_implementation()} "
        f"{version} on {machine}. Install one with `pip install --only-binary belljar belljar`, or build "
        "it from source with Rust (`make wheel`)."
    )
