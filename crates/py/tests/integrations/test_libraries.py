"""What holds for every integration: libraries are imported when they are asked for, and not before."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

# The module, the library that it imports, and what is to be installed.
INTEGRATIONS = [
    ("langchain", "langchain_core", "langchain-core"),
    ("openai_agents", "agents", "openai-agents"),
    ("smolagents", "smolagents", "smolagents"),
    ("inspect_ai", "inspect_ai", "inspect-ai"),
    ("pydantic_ai", "pydantic_ai", "pydantic-ai-slim"),
    ("autogen", "autogen_core", "autogen-core"),
    ("jupyter", "IPython", "ipython"),
]


def python(source: str) -> str:
    """What an interpreter of its own says."""
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize(("module", "library", "package"), INTEGRATIONS)
def test_a_missing_library_is_one_sentence_that_says_what_to_install(
    module: str, library: str, package: str
) -> None:
    said = python(
        f"import sys\nsys.modules[{library!r}] = None\n"
        f"try:\n    import belljar.integrations.{module}\nexcept ImportError as error:\n    print(error)"
    )
    assert said == f"this integration needs a library that is not installed: pip install {package}"


def test_importing_belljar_imports_no_library() -> None:
    names = [library for _, library, _ in INTEGRATIONS]
    said = python(
        "import sys, belljar, belljar.integrations\n"
        f"print([name for name in {names} + ['pydantic'] if name in sys.modules])"
    )
    assert said == "[]"


@pytest.mark.skipif(
    "BELLJAR_INTEGRATIONS_REQUIRED" not in os.environ, reason="scripts/test-integrations alone has them all"
)
def test_every_library_is_installed_in_the_version_that_is_named() -> None:
    lines = (Path(__file__).parent / "requirements.txt").read_text().splitlines()
    named = dict(line.split("==") for line in lines if "==" in line)
    assert len(named) >= 12
    assert {name: importlib.metadata.version(name) for name in named} == named
