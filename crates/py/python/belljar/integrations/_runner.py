"""Code of a model in, text for the model out. The tools of all libraries share this."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

from .._pending import Pending
from ..results import ExecutionResult
from ..sandbox import Sandbox
from ..session import Session

__all__ = ["DESCRIPTION", "KEEPS", "FORGETS", "Picture", "Ran", "Runner", "describe", "pictures"]

DESCRIPTION = (
    "Runs Python code in an isolated sandbox, and returns what it prints, the value of its last "
    "expression, and errors with their line."
)
FORGETS = " Each call starts afresh: nothing of an earlier call is left."
KEEPS = " Variables and files stay for the next call."

_STARTED_ANEW = "(The earlier session is gone, and so are its variables. This ran in a new one.)"
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Picture(NamedTuple):
    """A picture that code showed."""

    media_type: str
    base64: str

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return base64.b64decode(self.base64)

    @property
    def url(self) -> str:
        """It as a `data:` address."""
        return f"data:{self.media_type};base64,{self.base64}"


class Ran(NamedTuple):
    """What a model reads of a run, and the run's whole result."""

    text: str
    result: ExecutionResult


def pictures(result: ExecutionResult) -> list[Picture]:
    """The pictures that a run showed, each in its best form."""
    found = []
    for display in result.displays:
        kind = next((each for each in _PICTURES if each in display.data), None)
        if kind is not None:
            found.append(Picture(kind, "".join(str(display.data[kind]).split())))
    return found


def describe(result: ExecutionResult, most: int = 20_000) -> str:
    """What a model should read: what was printed, the result, and what went wrong on which line."""
    parts = [result.stdout.rstrip("\n")]
    for display in result.displays:
        if not any(kind in display.data for kind in _PICTURES) and display.text not in result.stdout:
            parts.append(display.text)
    shown = len(pictures(result))
    if shown:
        parts.append(f"[{shown} picture{'s' if shown > 1 else ''}]")
    if result.stderr:
        parts.append("stderr:\n" + result.stderr.rstrip("\n"))
    if result.final_data is not None:
        parts.append("result: " + json.dumps(result.final_data, ensure_ascii=False))
    if result.files:
        parts.append(
            "files: "
            + ", ".join(
                f"{file.name} ({file.size} byte{'' if file.size == 1 else 's'})" for file in result.files
            )
        )
    if not result.success:
        trace = (result.traceback or "").rstrip("\n")
        parts.append(trace)
        error = result.error or result.verdict
        if not trace.endswith(error):
            parts.append(f"{result.verdict}: {error}")
    text = "\n".join(part for part in parts if part) or "(no output)"
    if len(text) > most:
        half = most // 2
        text = f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
    return text


class Runner:
    """Runs code: each time in a fresh cell, or as steps of a session.

    `session=True` makes a session when it is first needed, and another if it dies: code that uses up
    its memory takes its cell with it, and the model is told so. A `Session` that is given stays its
    owner's, and is not replaced.
    """

    def __init__(
        self,
        session: Union[Session, bool] = False,
        *,
        sandbox: Optional[Sandbox] = None,
        timeout: Optional[float] = None,
        collect: Union[str, Sequence[str]] = (),
        **config: Any,
    ) -> None:
        self.keeps = session is not False
        self._given = session if isinstance(session, Session) else None
        if self._given is not None and (sandbox is not None or config):
            raise TypeError("a session that is given has a sandbox already")
        if sandbox is not None and config:
            raise TypeError("a sandbox that is given has a config already")
        self._owns_sandbox = sandbox is None and self._given is None
        self._sandbox = sandbox if sandbox is not None or self._given is not None else Sandbox(**config)
        self._own: Optional[Session] = None
        self._options: dict[str, Any] = {"collect": collect}
        if timeout is not None:
            self._options["timeout"] = timeout

    def fresh(self) -> Runner:
        """Another one with the same sandbox, and with a session of its own."""
        if self._given is not None:
            return self
        other = Runner(self.keeps, sandbox=self._sandbox)
        other._options = self._options
        return other

    def _session(self) -> tuple[Session, bool]:
        """The session to run in, and whether an earlier one died."""
        if self._given is not None:
            return self._given, False
        died = self._own is not None and not self._own.is_alive
        if self._own is None or died:
            assert self._sandbox is not None
            self._own = self._sandbox.session()
        return self._own, died

    def run(self, code: str) -> Pending[Ran]:
        """Runs code. Whoever gives up waiting kills it."""
        # A model that answers `setup.py` means these words, and no file of this machine.
        source = code + "\n"

        async def work() -> Ran:
            if not self.keeps:
                assert self._sandbox is not None
                # As a step, so that the value of the last expression is told.
                pending = self._sandbox.run(source, mode="interactive", **self._options)
                result = await _inside(pending)
                return Ran(describe(result), result)
            session, died = self._session()
            result = await _inside(session.step(source, **self._options))
            text = describe(result)
            return Ran(f"{_STARTED_ANEW}\n{text}" if died else text, result)

        return Pending(work)

    async def _end_session(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            await _inside(own.close())

    def end_session(self) -> Pending[None]:
        """Ends its own session. The next run starts another."""
        return Pending(self._end_session)

    def close(self) -> Pending[None]:
        """Ends what is its own: its session, and its sandbox."""

        async def work() -> None:
            await self._end_session()
            if self._owns_sandbox and self._sandbox is not None:
                await _inside(self._sandbox.close())

        return Pending(work)


def _inside(pending: Pending[Any]) -> Any:
    """A `Pending` as a part of another: whoever waits for the outer one waits for it, too."""
    return pending._begin()
