"""A cell magic for notebooks: `%%belljar` runs a cell in a sandbox.

    %load_ext belljar.integrations.jupyter

    %%belljar --session --dep pandas --timeout 60
    import pandas as pd
    pd.DataFrame({"a": [1, 2]})

What is printed appears as it is printed, what is shown shows itself, and an error is the traceback of
the cell's own code. Interrupting the kernel interrupts the code; with `--session` the variables stay.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any, NoReturn, Optional

from ..events import Event
from ..results import ExecutionResult, harmless
from ..sandbox import Execution, Sandbox
from ..session import Session
from . import missing

try:
    from IPython.core.error import UsageError
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
    from IPython.display import publish_display_data
except ImportError as error:
    raise missing("ipython") from error

__all__ = ["BelljarMagics", "CellFailed", "load_ipython_extension", "unload_ipython_extension"]


class CellFailed(Exception):
    """The code of a cell failed. A notebook shows its traceback, and not the one of this process."""

    def __init__(self, result: ExecutionResult) -> None:
        super().__init__(result.error or result.verdict)
        self.result = result

    def _render_traceback_(self) -> list[str]:
        lines = (self.result.traceback or "").rstrip("\n").split("\n")
        if self.result.verdict not in ("exception", "exited", "cancelled"):
            lines.append(f"{self.result.verdict}: {self.result.error}")
        return [line for line in lines if line]


class _Parser(argparse.ArgumentParser):
    """Wrong options are an error of the cell, and do not end the kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%belljar: {message}\n{self.format_usage()}")


def _parser() -> _Parser:
    parser = _Parser(prog="%%belljar", add_help=False)
    add = parser.add_argument
    add("--session", action="store_true", help="keep variables for the next cell with the same options")
    add("--dep", action="append", default=[], metavar="PKG", help="a package to install, as pip has it")
    add("--timeout", type=float, metavar="N", help="seconds that the cell may take")
    add("--allow-host", action="append", default=[], metavar="HOST", help="a host that may be talked to")
    add("--memory", type=int, metavar="MB", help="memory in MiB")
    return parser


@magics_class
class BelljarMagics(Magics):
    """`%%belljar`, and `%belljar_reset`, which ends the sessions."""

    def __init__(self, shell: Optional[InteractiveShell] = None, **kwargs: Any) -> None:
        super().__init__(shell, **kwargs)
        self._sandboxes: dict[tuple[Any, ...], Sandbox] = {}
        self._sessions: dict[tuple[Any, ...], Session] = {}

    @cell_magic
    def belljar(self, line: str, cell: str) -> None:
        """Runs the cell in a sandbox.

        --session          keeps variables for the next cell with the same options
        --dep PKG          a package to install, as pip has it; several may be given
        --timeout N        seconds that the cell may take
        --allow-host HOST  a host that may be talked to; several may be given
        --memory MB        memory in MiB
        """
        given = _parser().parse_args(shlex.split(line))
        key = (tuple(sorted(given.dep)), tuple(sorted(given.allow_host)), given.memory)
        if key not in self._sandboxes:
            values = {"memory_mb": given.memory} if given.memory else {}
            self._sandboxes[key] = Sandbox(dependencies=given.dep, allow_hosts=given.allow_host, **values)
        # The newline says that this is code, and not the name of a file.
        source = cell + "\n"
        if given.session:
            execution = self._session(key).stream(source, timeout=given.timeout)
        else:
            sandbox = self._sandboxes[key]
            execution = sandbox.stream(source, mode="interactive", timeout=given.timeout)
        with execution:
            result = _follow(execution)
        if result.failed:
            raise CellFailed(result)

    def _session(self, key: tuple[Any, ...]) -> Session:
        session = self._sessions.get(key)
        if session is None or not session.is_alive:
            if session is not None:
                print("The earlier session is gone, and so are its variables.", file=sys.stderr)
            session = self._sessions[key] = self._sandboxes[key].session()
        return session

    @line_magic
    def belljar_reset(self, line: str) -> None:
        """Ends the sessions: their variables are gone."""
        self.end_sessions()

    def end_sessions(self) -> None:
        """The same, for Python."""
        for session in self._sessions.values():
            session.close().wait()
        self._sessions.clear()


def _follow(execution: Execution) -> ExecutionResult:
    """Shows what happens until the end. Ctrl-C interrupts the code once, and kills it the second time."""
    was_interrupted = False
    while True:
        try:
            for event in execution:
                _show(event)
            return execution.result().wait()
        except KeyboardInterrupt:
            if was_interrupted:
                raise
            was_interrupted = True
            execution.interrupt()


def _show(event: Event) -> None:
    if event.type in ("stdout", "stderr"):
        stream = sys.stdout if event.type == "stdout" else sys.stderr
        stream.write(event.text)
        stream.flush()
    elif event.type == "display":
        _publish(harmless(event["data"]))
    elif event.type == "final_result":
        _publish({"application/json": event["data"], "text/plain": repr(event["data"])})
    elif event.type in ("warning", "denied", "log"):
        print(f"{event.type}: {event.text or event.get('host', '')}", file=sys.stderr)


def _publish(data: dict[str, Any]) -> None:
    publish_display_data(data)  # type: ignore[no-untyped-call]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext belljar.integrations.jupyter` calls."""
    shell.register_magics(BelljarMagics)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """What `%unload_ext` calls: ends the sessions."""
    magics = shell.magics_manager.registry.get("BelljarMagics")
    if isinstance(magics, BelljarMagics):
        magics.end_sessions()
