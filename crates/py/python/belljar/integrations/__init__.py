"""Belljar for agent libraries, one module for each. None is imported before it is asked for.

    from belljar.integrations.langchain import BelljarTool
    from belljar.integrations.openai_agents import belljar_tool
    from belljar.integrations.smolagents import BelljarExecutor
    from belljar.integrations.inspect_ai import BelljarSandboxEnvironment
    from belljar.integrations.pydantic_ai import BelljarToolset
    from belljar.integrations.autogen import BelljarCodeExecutor
    %load_ext belljar.integrations.jupyter

A module whose library is missing raises an `ImportError` that says what to install.
"""

from __future__ import annotations

__all__: list[str] = []


def missing(package: str) -> ImportError:
    """The error of a module whose library is not installed."""
    return ImportError(f"this integration needs a library that is not installed: pip install {package}")
