"""Runs the notebook of the examples, in a kernel of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import belljar
from conftest import PATIENCE

nbformat = pytest.importorskip("nbformat", reason="the notebook is read with nbformat")
nbclient = pytest.importorskip("nbclient", reason="the notebook is run with nbclient")
pytest.importorskip("ipykernel", reason="the notebook is run in a kernel of ipykernel's")

NOTEBOOK = Path(__file__).parents[3] / "examples/notebook.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The cells of code, run."""
    kernels = tmp_path_factory.mktemp("jupyter")
    spec = kernels / "kernels/python3"
    spec.mkdir(parents=True)
    # The Python of the tests, whatever kernels this user has.
    argv = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    (spec / "kernel.json").write_text(f'{{"argv": {argv}, "display_name": "Python 3", "language": "python"}}')
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    if not can_install():
        notebook.cells = [each for each in notebook.cells if "installs" not in each.metadata.get("tags", [])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(kernels))
        client = nbclient.NotebookClient(
            notebook,
            timeout=5 * PATIENCE,
            kernel_name="python3",
            resources={"metadata": {"path": str(kernels)}},
        )
        client.execute()
    return [each for each in notebook.cells if each.cell_type == "code"]


def can_install() -> bool:
    """Whether packages can be had here."""
    try:
        belljar.Sandbox(dependencies=["matplotlib"]).open().wait()
    except belljar.BelljarError:
        return False
    return True


def output_of(cells: list[Any], beginning: str) -> dict[str, Any]:
    """What the last output of a cell says, by media type."""
    for cell in cells:
        if beginning in cell.source:
            last = cell.outputs[-1]
            return dict(last.data) if "data" in last else {"text/plain": last.text}
    raise AssertionError(f"no cell has {beginning!r}")


def test_no_outputs_are_kept_in_the_file() -> None:
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


def test_the_notebook_is_valid() -> None:
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))


def test_runs_show_themselves(cells: list[Any]) -> None:
    assert output_of(cells, "sum(range(10))")["text/plain"].strip() == "45"
    assert "ScriptTimeout" in output_of(cells, "while True")["text/plain"]
    assert output_of(cells, 'files["best.txt"]')["text/plain"] == "'south'"


def test_a_table_and_a_chart_show_themselves(cells: list[Any]) -> None:
    assert "&lt;td&gt;south&lt;/td&gt;" in output_of(cells, "_repr_html_")["text/html"]
    if any("matplotlib" in cell.source for cell in cells):
        assert output_of(cells, "matplotlib")["image/png"]


def test_steps_tools_and_cells_answer(cells: list[Any]) -> None:
    assert output_of(cells, "prices = ")["text/plain"].strip() == "8"
    assert output_of(cells, "def rate")["text/plain"].strip() == "5.0 KeyError: 'xyz'"
    assert output_of(cells, "x + 22")["text/plain"].strip() == "42"
