"""What can go wrong with Belljar itself, or with a request.

A script that fails is no exception: its result has a verdict. An exception says that Belljar could
not do what it was asked for, or that what was asked for makes no sense. All of them are
`BelljarError`, which is a `RuntimeError`; those about a wrong argument are `ValueError`, too.
"""

from __future__ import annotations

import asyncio
import sys

__all__ = [
    "ArtifactError",
    "BelljarError",
    "CheckoutTimeout",
    "Closed",
    "ConfigError",
    "EngineError",
    "FilesError",
    "Forbidden",
    "Forked",
    "IsDirectory",
    "NotFound",
    "Refused",
    "SessionOver",
    "StepUnderWay",
    "ToolError",
    "Unavailable",
    "WorkspaceError",
]


class BelljarError(RuntimeError):
    """Something went wrong, and not in the script."""


class Unavailable(BelljarError):
    """Belljar cannot run here. The message says why, and what would."""


class Refused(BelljarError, ValueError):
    """What was asked for cannot be done as asked: an empty script, a limit that nothing meets."""


class ConfigError(Refused):
    """A config breaks a rule. The message names the field, the value and the rule."""


class ToolError(Refused):
    """A tool's description breaks a rule, or its name is taken."""


class EngineError(BelljarError):
    """The engine, or the machine, could not do it."""


if sys.version_info >= (3, 11):

    class CheckoutTimeout(BelljarError, TimeoutError):
        """No cell came free in time."""
else:
    # Two classes, there.
    class CheckoutTimeout(BelljarError, asyncio.TimeoutError, TimeoutError):
        """No cell came free in time."""


class Closed(BelljarError):
    """The sandbox was closed, or its runtime was shut down."""


class Forked(BelljarError):
    """This process was forked from the one that has the runtime."""


class SessionOver(BelljarError):
    """The session's cell is gone."""


class StepUnderWay(BelljarError):
    """A step of the session has not ended yet."""


class FilesError(BelljarError, OSError):
    """A file did not get into a cell or a workspace, or out of it."""


class WorkspaceError(BelljarError):
    """Something could not be done in a workspace."""


class NotFound(WorkspaceError, FileNotFoundError):
    """There is no such file, directory or workspace."""


class Forbidden(WorkspaceError, PermissionError):
    """The file's owner has closed it to himself."""


class IsDirectory(WorkspaceError, IsADirectoryError):
    """It is a directory, where a file is wanted."""


class ArtifactError(BelljarError):
    """An artifact could not be saved or loaded."""
