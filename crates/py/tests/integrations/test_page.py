"""Runs what docs/integrations.md shows, with scripted models, and compares what it says of versions."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import re
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[3] / "docs/integrations.md"
SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.M | re.S)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
PRINTED = re.compile(r"print\(.*\)  # (.+)$", re.M)

SUM = "print(sum(range(10)))"


def langchain() -> Any:
    from langchain_core.messages import AIMessage
    from test_langchain import Scripted, call

    return Scripted(messages=iter([AIMessage("", tool_calls=[call(SUM)]), AIMessage("It is 45.")]))


def openai_agents() -> Any:
    return importlib.import_module("test_openai_agents").Scripted(SUM)


def smolagents() -> Any:
    return importlib.import_module("test_smolagents").Scripted("final_answer(3 * price('tea'))")


def inspect_ai() -> Any:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    name = "mockllm/model"
    outputs = [
        ModelOutput.for_tool_call(name, "bash", {"command": "wc -l <rows.csv"}),
        ModelOutput.from_content(name, "There are 2 rows."),
    ]
    for each in outputs:
        each.usage = ModelUsage()
    return get_model(name, custom_outputs=outputs)


def pydantic_ai() -> Any:
    return importlib.import_module("test_pydantic_ai").scripted(SUM)


def autogen() -> Any:
    from autogen_ext.models.replay import ReplayChatCompletionClient

    return ReplayChatCompletionClient(["```python\nprint(6 * 7)\n```", "It is 42."])


# The section, what it imports, and its model.
SECTIONS: list[tuple[str, list[str], Callable[[], Any]]] = [
    ("LangChain", ["langchain_core", "langchain"], langchain),
    ("OpenAI Agents SDK", ["agents"], openai_agents),
    ("smolagents", ["smolagents"], smolagents),
    ("Inspect", ["inspect_ai"], inspect_ai),
    ("Pydantic AI", ["pydantic_ai"], pydantic_ai),
    ("AutoGen", ["autogen_core", "autogen_agentchat", "autogen_ext"], autogen),
]


def blocks(section: str, language: str) -> list[str]:
    """The blocks of a section. There is at least one."""
    text = dict(SECTION.findall(PAGE.read_text(encoding="utf-8")))[section]
    found = [block for kind, block in BLOCK.findall(text) if kind == language]
    assert found, f"{section} shows nothing"
    return found


@pytest.mark.filterwarnings("ignore:No approval function")
@pytest.mark.parametrize(("section", "libraries", "model"), SECTIONS, ids=[each[0] for each in SECTIONS])
async def test_the_example_of_a_section_prints_what_it_says(
    section: str,
    libraries: list[str],
    model: Callable[[], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for library in libraries:
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BELLJAR_WORKSPACES", str(tmp_path))
    for number, block in enumerate(blocks(section, "python")):
        # Functions of a page are looked up by their source, so it is a file.
        file = tmp_path / f"example_{number}.py"
        file.write_text(block)
        code = compile(block, str(file), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        printed = io.StringIO()
        names = {"__name__": f"example_{number}", "model": model()}
        with contextlib.redirect_stdout(printed):
            if code.co_flags & inspect.CO_COROUTINE:
                await eval(code, names)
            else:
                in_its_thread(lambda code=code, names=names: exec(code, names))  # type: ignore[misc]
        assert printed.getvalue().splitlines() == PRINTED.findall(block)


def in_its_thread(work: Callable[[], object]) -> None:
    """Runs a synchronous example where no event loop runs, as it is written for."""
    import threading

    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def test_the_cells_of_the_notebook_section_print_what_they_say() -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("nbclient")
    kernel = importlib.import_module("test_jupyter").Kernel()
    for block in blocks("Notebooks", "ipython"):
        said = kernel.run(block.strip("\n"))
        assert not [told for kind, told in said if kind == "error"]
        printed = "".join(told["text"] for kind, told in said if kind == "stream")
        assert printed.splitlines() == PRINTED.findall(block)
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)


def test_the_page_names_the_versions_that_are_tested() -> None:
    lines = (HERE / "requirements.txt").read_text().split("\n\n")[0].splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    table = re.findall(r"`([\w-]+)` (\d[\d.]+)", PAGE.read_text(encoding="utf-8"))
    assert dict(table) == tested


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the page is about 3.11")
def test_the_page_has_a_section_for_every_module() -> None:
    text = PAGE.read_text(encoding="utf-8")
    folder = HERE.parents[1] / "python/belljar/integrations"
    modules = {file.stem for file in folder.glob("*.py") if not file.stem.startswith("_")}
    assert set(re.findall(r"^\| \[.*?\]\(#.*?\) \| `(\w+)` \|", text, re.M)) == modules
