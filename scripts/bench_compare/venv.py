"""The virtual environment for candidates from PyPI. It is only ever made or changed when the caller said --install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .channel import Failure

INSTALL_S = 300
# The versions whose interfaces the drivers speak. The last one alone: its dependencies are large,
# and not needed for its tools.
PACKAGES = (("pydantic-monty==1.4.0", "docker>=7"), ("--no-deps", "jazzmine==0.1.42"))


def python() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = "{}.{}".format(*sys.version_info)
    return cache / "belljar" / "bench-compare" / f"venv-{version}" / "bin" / "python"


def install() -> None:
    here = python()
    if not here.exists():
        _run([sys.executable, "-m", "venv", str(here.parent.parent)])
    for packages in PACKAGES:
        _run([str(here), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])


def has(module: str) -> bool:
    """Without importing it: one of them would pull in half the world."""
    look = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    return python().exists() and subprocess.run([str(python()), "-c", look], timeout=30).returncode == 0


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(command)}: not done within {INSTALL_S} s") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
        raise Failure(f"{' '.join(command)}: {said[-1]}")
