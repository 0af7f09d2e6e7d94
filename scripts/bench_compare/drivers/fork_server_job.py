"""What the fork server's children run, and the modules they find loaded."""

import asyncio  # noqa: F401
import collections  # noqa: F401
import datetime  # noqa: F401
import inspect  # noqa: F401
import json  # noqa: F401
import math  # noqa: F401
import re  # noqa: F401


def run(script, sender):
    names = {}
    exec(compile(script, "script.py", "exec"), names)
    sender.send(names["result"])
