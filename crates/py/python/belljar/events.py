"""What happens during a run, as it happens."""

from __future__ import annotations

import json
from typing import Any, Optional

from .results import Display, ExecutionResult, read_result

__all__ = ["Event"]


class Event(dict[str, Any]):
    """One thing that happened: a dictionary, as every surface of Belljar writes it in JSON.

    `event["type"]` says what: `stdout`, `stderr`, `log`, `intermediate`, `final_result`, `display`,
    `tool_call`, `tool_progress`, `tool_result`, `error`, `denied`, `script_done`, `leftover`,
    `warning`, and as the last one always `ended`, which has the `result`.

    >>> import belljar
    >>> [event.type for event in belljar.stream("emit_intermediate('half', 50)")]
    ['intermediate', 'script_done', 'ended']
    """

    @property
    def type(self) -> str:
        """What happened."""
        return str(self["type"])

    @property
    def text(self) -> str:
        """What was printed, logged, shown or said."""
        if self.type == "display":
            return Display(self["data"]).text
        return str(self.get("text", self.get("message", "")))

    @property
    def display(self) -> Optional[Display]:
        """What a script showed."""
        return Display(self["data"]) if self.type == "display" else None

    @property
    def result(self) -> Optional[ExecutionResult]:
        """How it ended, in the last event."""
        return self.get("result")


def read_events(parts: tuple[str, Any]) -> list[Event]:
    """Events, from what the native module hands over."""
    text, ended = parts
    events = [Event(each) for each in json.loads(text)]
    if ended is not None:
        seq, result = ended
        result = read_result(result)
        events.append(Event(type="ended", execution_id=result.execution_id, seq=seq, result=result))
    return events
