"""What a script finds in its globals."""

import asyncio
import builtins
import datetime
import json
import math
import os
import re
import time
import types
import uuid

from .displays import display
from .execution import emit_intermediate, emit_log, emit_result


class ToolResponse:
    """What a tool returns: whether it worked, its data, and a message for the reader."""

    # Where a script finds it, and pickle too.
    __module__ = "__main__"

    def __init__(self, success=True, data=None, message=""):
        self.success = success
        self.data = data
        self.message = message

    def __repr__(self):
        return f"ToolResponse(success={self.success!r}, data={self.data!r}, message={self.message!r})"


class ToolsNotLoaded(Exception):
    """A tool file that waited for the cell's secrets has failed."""


# Tool files that are loaded before the first script starts, or None; see `late_tools`.
late_tools = None

# Whether scripts are steps of a session.
is_session = False

# Tools are added when they are loaded.
base_globals = {
    "__builtins__": builtins,
    "asyncio": asyncio,
    "datetime": datetime,
    "json": json,
    "math": math,
    "os": os,
    "re": re,
    "time": time,
    "uuid": uuid,
    "ToolResponse": ToolResponse,
    "display": display,
    "emit_intermediate": emit_intermediate,
    "emit_log": emit_log,
    "emit_result": emit_result,
}


def new_main():
    """A real `__main__`: pickle, dataclasses and `if __name__ == "__main__"` find what they expect."""
    module = types.ModuleType("__main__")
    module.__dict__.update(base_globals)
    return module
