"""Runs what the documents show: blocks of Python in pages, docstrings, examples, and tables of names.

A block says what it expects in comments:

    1 + 1             # → 2                       the value's repr; `...` stands for anything
    int("x")          # raises ValueError: ...    the exception, and its text
"""

from __future__ import annotations

import ast
import asyncio
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any

import pytest

import belljar
from conftest import PATIENCE

ROOT = Path(__file__).parents[3]
PAGES = ["docs/guide/python.md", "docs/migration.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
EXPECTED = re.compile(r"#\s*(→|raises)\s*(.+)")


def is_so(got: str, expected: str) -> bool:
    return doctest.OutputChecker().check_output(expected + "\n", got + "\n", doctest.ELLIPSIS)


class Expect(ast.NodeTransformer):
    """Puts checks in place of the expressions that have an expectation."""

    def __init__(self, source: str) -> None:
        self.expected: dict[int, tuple[str, str]] = {}
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            found = EXPECTED.match(token.string) if token.type == tokenize.COMMENT else None
            if found:
                self.expected[token.start[0]] = (found[1], found[2].strip())

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        kind, text = self.expected.pop(node.end_lineno or 0, ("", ""))
        if not kind:
            return node
        expected = f"{text!r}, {node.end_lineno}"
        made: Any
        if kind == "→":
            made = ast.parse(f"_is({expected})").body[0]
            made.value.args.insert(0, node.value)
        else:
            heard = f"except BaseException as e: _raised(e, {expected})"
            made = ast.parse(f"try: pass\n{heard}\nelse: _raised(None, {expected})").body[0]
            made.body = [node]
        return ast.copy_location(made, node)  # type: ignore[no-any-return]


def _is(value: object, expected: str, line: int) -> None:
    assert is_so(repr(value), expected), f"line {line}: {value!r}, and not {expected}"


def _raised(error: BaseException | None, expected: str, line: int) -> None:
    told = f"{type(error).__name__}: {error}"
    assert is_so(told, expected) or told.split(":")[0] == expected, f"line {line}: {told}, and not {expected}"


class Page:
    """A page's blocks, run one after another with the same names and the same event loop."""

    def __init__(self, path: Path, scratch: Path) -> None:
        self.path, self.scratch = path, scratch
        self.names: dict[str, Any] = {"__name__": "page", "_is": _is, "_raised": _raised}
        text = path.read_text(encoding="utf-8")
        self.blocks = [(text[: found.start(1)].count("\n"), found[1]) for found in BLOCK.finditer(text)]

    def run(self) -> None:
        assert self.blocks, f"{self.path} has no blocks"
        loop = asyncio.new_event_loop()
        try:
            for line, source in self.blocks:
                self.run_block(loop, line, source)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def run_block(self, loop: asyncio.AbstractEventLoop, line: int, source: str) -> None:
        # In a file of its own, at the lines of the page: `inspect` finds sources, tracebacks are true.
        padded = "\n" * line + source
        file = self.scratch / f"{self.path.stem}_{line}.py"
        file.write_text(padded, encoding="utf-8")
        expect = Expect(padded)
        tree = ast.fix_missing_locations(expect.visit(ast.parse(padded)))
        assert not expect.expected, f"{self.path}: nothing to expect something of: {expect.expected}"
        code = compile(tree, str(file), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        try:
            made = eval(code, self.names)
            if inspect.iscoroutine(made):
                loop.run_until_complete(asyncio.wait_for(made, PATIENCE))
        except Exception as error:
            raise AssertionError(f"{self.path.name}, the block at line {line + 1}: {error!r}") from error


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, with a place for workspaces."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_does_what_it_says(page: str, scratch: Path) -> None:
    pytest.importorskip("pydantic", reason="the guide has a tool that takes a model of pydantic's")
    Page(ROOT / page, scratch).run()


@pytest.mark.parametrize(
    "block",
    [
        "1 + 1  # → 3",
        "int('x')  # → 1",
        "int('1')  # raises ValueError",
        "int('x')  # raises KeyError",
        "x = 1  # → 1",
    ],
)
def test_a_wrong_expectation_fails(block: str, scratch: Path) -> None:
    (scratch / "wrong.md").write_text(f"```python\n{block}\n```\n")
    with pytest.raises(AssertionError):
        Page(scratch / "wrong.md", scratch).run()


def modules() -> list[str]:
    """All modules of the package, without what wants another package."""
    found = pkgutil.walk_packages(belljar.__path__, "belljar.")
    return ["belljar", *(each.name for each in found if not each.name.endswith("._belljar"))]


@pytest.mark.parametrize("name", modules())
def test_docstrings_are_true(name: str, scratch: Path, request: pytest.FixtureRequest) -> None:
    if name.startswith("belljar.integrations."):
        pytest.importorskip(name, reason="it wants a package that is not here", exc_type=ImportError)
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    told = doctest.testmod(module, optionflags=flags)
    assert told.failed == 0, f"{told.failed} of {told.attempted} examples of {name}"


def test_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = [
        example
        for name in modules()
        if not name.startswith("belljar.integrations.")
        for each in finder.find(importlib.import_module(name))
        for example in each.examples
    ]
    assert len(examples) > 30, "they are looked for, and found"


EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_prints_what_its_first_lines_say(example: Path) -> None:
    docstring = ast.get_docstring(ast.parse(example.read_text())) or ""
    expected = docstring.split("It prints:\n\n")[1]
    ran = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ran.stderr, ran.returncode) == ("", 0)
    printed = inspect.cleandoc(expected)
    assert is_so(ran.stdout.rstrip(), printed), ran.stdout


def test_there_are_examples() -> None:
    assert [each.name for each in EXAMPLES] == ["agent_loop.py", "grader.py"]


def rows(page: str) -> list[list[str]]:
    """The cells of a page's tables, without heads."""
    lines = (ROOT / page).read_text(encoding="utf-8").split("\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if not set("".join(row)) <= set("-: ")]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([A-Za-z_][\w.]*(?:::\w+)*)", cell)


def has(name: str) -> bool:
    """Whether the package has it: a module's, a class's, or a field."""
    parts = name.split(".")
    found: Any = belljar
    for part in parts:
        fields = getattr(found, "__dataclass_fields__", {})
        if not hasattr(found, part) and part not in fields and part not in made_in_init(found):
            return False
        found = getattr(found, part, None)
    return True


def made_in_init(kind: Any) -> set[str]:
    """The attributes that a class sets on itself."""
    if not inspect.isclass(kind):
        return set()
    return set(re.findall(r"\bself\.(\w+)", inspect.getsource(kind)))


def some_tool() -> None:
    """With a tool there are the names that come with tools."""


def test_every_name_of_the_table_of_names_exists() -> None:
    library = (ROOT / "crates/belljar/src/lib.rs").read_text(encoding="utf-8")
    exported = set(re.findall(r"\b\w+\b", re.sub(r"//[/!].*", "", library)))
    table = [row for row in rows("docs/python-names.md") if row[0] != "the documents"]
    assert len([row for row in table if len(row) == 4]) > 40
    in_scripts = []
    for row in table:
        if len(row) == 3:
            in_scripts += names_in(row[1])
            continue
        seeds, rust, python, better = row
        assert better, f"{seeds}: nothing is better, or it is not said"
        for name in names_in(python):
            assert has(name), f"{seeds}: the package has no {name}"
        for name in names_in(rust):
            assert name.split("::")[0] in exported, f"{seeds}: lib.rs has no {name}"
    script = f"emit_result([name for name in {in_scripts} if name not in globals()])"
    missing = belljar.run(script, tools=[some_tool])
    assert len(in_scripts) > 10 and missing.final_data == []
