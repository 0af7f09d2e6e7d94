"""What is on this machine, and for what is not: what would bring it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import venv
from .channel import Failure
from .command import run

IMAGE = "python:3.11-slim"


class Absent(Exception):
    """A candidate that is not on this machine; says what would bring it."""


@dataclass(frozen=True)
class Setting:
    belljar: Path
    python: str


def need_belljar(setting: Setting) -> str:
    if not os.access(setting.belljar, os.X_OK):
        raise Absent(f"no {setting.belljar} (make build)")
    return str(setting.belljar)


def need_package(module: str) -> None:
    if not venv.has(module):
        raise Absent(f"{module} is not in {venv.python().parent.parent} (--install puts it there)")


def need_docker() -> tuple[str, str]:
    docker = shutil.which("docker")
    if not docker:
        raise Absent("no docker on the path")
    try:
        version = run([docker, "version", "--format", "{{.Server.Version}}"]).strip()
    except Failure:
        raise Absent("no Docker daemon answers") from None
    try:
        run([docker, "image", "inspect", "--format", "{{.Id}}", IMAGE])
    except Failure:
        raise Absent(f"Docker has no image {IMAGE} (docker pull {IMAGE})") from None
    return docker, version
