"""The commands of docs/guide/server.md that start a container. Tests start what readers do."""

from __future__ import annotations

import re
import shlex

# What a test names itself.
OF_ITS_OWN = ("--name", "--publish", "--stop-timeout")


def granted(text: str, title: str, group_of_socket: str = "") -> list[str]:
    """The options under this title, but for names and places of the reader's own."""
    found = re.search(rf"^\*\*{title}\*\*.*?^```sh\n(docker run .*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise LookupError(f"the guide has no command under {title!r}")
    command = found[1].replace("\\\n", " ").replace("$(stat -c %g /var/run/docker.sock)", group_of_socket)
    words = iter(shlex.split(command)[2:])
    options = []
    for word in words:
        if word == "belljar":
            return options
        if word in OF_ITS_OWN:
            next(words)
        elif word == "--volume":
            value = next(words)
            options += [] if value.startswith("belljar:") else [word, value]
        elif word != "--detach":
            options.append(word)
    raise LookupError(f"the guide's command under {title!r} does not name the image")
