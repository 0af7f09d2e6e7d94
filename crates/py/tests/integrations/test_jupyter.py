"""The cell magic, in a real kernel."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("ipykernel", reason="ipykernel is not installed")
pytest.importorskip("nbclient", reason="nbclient is not installed")

from jupyter_client.manager import start_new_kernel  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellExecutionError  # noqa: E402
from nbformat.v4 import new_code_cell, new_notebook  # noqa: E402
from sleepers import DOT, Sleeper  # noqa: E402

from conftest import PATIENCE, eventually  # noqa: E402

LOAD = "%load_ext belljar.integrations.jupyter"


class Kernel:
    """A kernel, and what it says to each cell."""

    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def begin(self, code: str) -> str:
        return str(self.client.execute(code))

    def messages(self, id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """What is said to a cell until it is done."""
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return
            yield kind, content

    def run(self, code: str) -> list[tuple[str, dict[str, Any]]]:
        return list(self.messages(self.begin(code)))

    def printed(self, code: str, stream: str = "stdout") -> str:
        said = self.run(code)
        return "".join(told["text"] for kind, told in said if kind == "stream" and told["name"] == stream)

    def error(self, code: str) -> str:
        (told,) = [told for kind, told in self.run(code) if kind == "error"]
        return "\n".join(told["traceback"])


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    assert made.run(LOAD)[-1][0] == "execute_input"
    yield made
    made.client.stop_channels()
    made.manager.shutdown_kernel(now=True)


def test_a_cell_runs_in_a_sandbox_and_not_in_the_kernel(kernel: Kernel) -> None:
    assert kernel.printed("%%belljar\nimport os\nprint('hello', os.getuid())\n6 * 7") == "hello 1000\n42\n"
    assert "NameError" in kernel.error("%%belljar\nget_ipython()")


def test_stdout_and_stderr_are_apart(kernel: Kernel) -> None:
    assert kernel.printed("%%belljar\nimport sys\nprint('no', file=sys.stderr)", "stderr") == "no\n"


def test_what_is_printed_appears_while_the_cell_runs(kernel: Kernel) -> None:
    code = "%%belljar\nimport time\nprint('first', flush=True)\ntime.sleep(2)\nprint('second')"
    at = {}
    for kind, told in kernel.messages(kernel.begin(code)):
        if kind == "stream":
            at[told["text"].strip()] = time.monotonic()
    assert at["second"] - at["first"] > 1


def test_variables_stay_with_session_alone(kernel: Kernel) -> None:
    kernel.run("%%belljar\nx = 1")
    assert "NameError" in kernel.error("%%belljar\nx")
    kernel.run("%%belljar --session\nx = 41")
    assert kernel.printed("%%belljar --session\nx + 1") == "42\n"
    kernel.run("%belljar_reset")
    assert "NameError" in kernel.error("%%belljar --session\nx")


def test_sessions_with_other_options_are_others(kernel: Kernel) -> None:
    kernel.run("%%belljar --session --memory 128\ny = 1")
    assert "NameError" in kernel.error("%%belljar --session\ny")


def test_what_is_shown_shows_itself(kernel: Kernel) -> None:
    (shown,) = [told for kind, told in kernel.run("%%belljar\n" + DOT) if kind == "display_data"]
    assert shown["data"]["image/png"].startswith("iVBOR")


def test_an_error_is_the_traceback_of_the_cell(kernel: Kernel) -> None:
    text = kernel.error("%%belljar\nx = 1\nx / 0")
    assert "line 2" in text and text.endswith("ZeroDivisionError: division by zero")
    assert "belljar/integrations" not in text


def test_a_timeout_says_so(kernel: Kernel) -> None:
    text = kernel.error("%%belljar --timeout 0.5\nwhile True: pass")
    assert "timeout_wall" in text and "0.5s" in text


def test_a_wrong_option_is_an_error_of_the_cell(kernel: Kernel) -> None:
    said = kernel.printed("%%belljar --sesion\n1", "stderr")
    assert "unrecognized arguments: --sesion" in said and "usage: %%belljar" in said
    assert kernel.printed("1; print('still here')") == "still here\n"


def test_a_host_is_reached_only_if_it_is_allowed(kernel: Kernel) -> None:
    code = "import os\nprint(any('proxy' in name.lower() for name in os.environ))"
    assert kernel.printed(f"%%belljar\n{code}") == "False\n"
    assert kernel.printed(f"%%belljar --allow-host example.com\n{code}") == "True\n"


def test_interrupting_the_kernel_interrupts_the_cell_and_keeps_its_variables(kernel: Kernel) -> None:
    sleeper = Sleeper()
    kernel.run("%%belljar --session\nx = 7")
    id = kernel.begin(f"%%belljar --session\n{sleeper.python}")
    eventually("it sleeps", sleeper.runs)
    kernel.manager.signal_kernel(signal.SIGINT)
    said = list(kernel.messages(id))
    assert [told["ename"] for kind, told in said if kind == "error"] == ["CellFailed"]
    eventually("it sleeps no more", lambda: not sleeper.runs())
    assert kernel.printed("%%belljar --session\nx") == "7\n"


def test_the_end_of_a_kernel_is_the_end_of_its_cells() -> None:
    kernel, sleeper = Kernel(), Sleeper()
    kernel.run(LOAD)
    kernel.begin(f"%%belljar\n{sleeper.python}")
    eventually("it sleeps", sleeper.runs)
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)
    eventually("the cell is gone", lambda: not sleeper.runs())


def test_a_notebook_stops_at_a_cell_that_fails() -> None:
    cells = [LOAD, "%%belljar\nprint('a')", "%%belljar\n1 / 0", "%%belljar\nprint('b')"]
    notebook = new_notebook(cells=[new_code_cell(each) for each in cells])  # type: ignore[no-untyped-call]
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        NotebookClient(notebook, kernel_name="python3", timeout=int(PATIENCE)).execute()
    assert notebook.cells[1].outputs[0].text == "a\n"
    assert not notebook.cells[3].outputs
