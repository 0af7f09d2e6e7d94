"""What is left when a run is over."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

__all__ = ["CollectedFile", "Display", "ExecutionResult", "Files", "Usage"]


@dataclass(frozen=True)
class Usage:
    """What a run used. `None` is what the engine cannot measure."""

    wall_ms: float = 0.0
    cpu_ms: Optional[float] = None
    peak_memory_bytes: Optional[int] = None
    oom_kills: Optional[int] = None
    forks_refused: Optional[int] = None


# Forms that run nothing in the page that shows them.
_HARMLESS = frozenset(
    {"text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "application/json", "text/latex"}
)


def harmless(data: Mapping[str, Any]) -> dict[str, Any]:
    """The forms of a display that a notebook may show. A script wrote them, and a page that runs its
    JavaScript would let it out of its sandbox. So HTML is shown in a frame that runs nothing, SVG as a
    picture, and JavaScript and widgets not at all."""
    shown = {kind: value for kind, value in data.items() if kind in _HARMLESS}
    if "text/html" in data:
        page = str(data["text/html"])
        height = min(600, 40 + 26 * max(page.count("<tr"), page.count("\n"), 1))
        shown["text/html"] = (
            f'<iframe sandbox="" style="width:100%;height:{height}px;border:0;background:#fff" '
            f'srcdoc="{html.escape(page)}"></iframe>'
        )
    elif "image/svg+xml" in data:
        picture = base64.b64encode(str(data["image/svg+xml"]).encode()).decode("ascii")
        shown["text/html"] = f'<img src="data:image/svg+xml;base64,{picture}">'
    return shown


@dataclass(frozen=True)
class Display:
    """Something that a script showed, in its forms. A notebook shows it by itself."""

    data: dict[str, Any] = field(default_factory=dict)
    """By media type. Binary forms, such as `image/png`, are base64."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return harmless(self.data)

    @property
    def text(self) -> str:
        """Its plain form."""
        return str(self.data.get("text/plain", ""))

    @property
    def png(self) -> Optional[bytes]:
        """Its picture, if it has one."""
        picture = self.data.get("image/png")
        return base64.b64decode(picture) if picture is not None else None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class CollectedFile:
    """A file that a script wrote and its caller wanted."""

    name: str
    """Its path below the script's directory."""
    size: int
    sha256: str
    media_type: str
    is_executable: bool
    content: Union[bytes, Path] = field(repr=False)
    """Its bytes, or the file that they were written to."""

    @property
    def path(self) -> Optional[Path]:
        """Where it was written, if it was."""
        return self.content if isinstance(self.content, Path) else None

    def read_bytes(self) -> bytes:
        """Its content."""
        return self.content.read_bytes() if isinstance(self.content, Path) else self.content

    def read_text(self, encoding: str = "utf-8") -> str:
        """Its content as text."""
        return self.read_bytes().decode(encoding)

    def save(self, path: Union[str, Path]) -> Path:
        """Writes it to a file of this machine."""
        path = Path(path)
        path.write_bytes(self.read_bytes())
        return path


class Files(list["CollectedFile"]):
    """Files, in the order of their names. They can be looked up by name, too."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            for file in self:
                if file.name == key:
                    return file
            raise KeyError(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return any(file.name == key for file in self)
        return super().__contains__(key)

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [file.name for file in self]


@dataclass
class ExecutionResult:
    """The outcome of one run, built by the host.

    >>> import belljar
    >>> result = belljar.run("emit_result(6 * 7)")
    >>> result.success, result.final_data, result.verdict
    (True, 42, 'ok')
    """

    success: bool
    execution_id: str = ""
    final_data: Any = None
    """What the script passed to `emit_result`."""
    intermediates: list[dict[str, Any]] = field(default_factory=list)
    """Every `emit_intermediate`: `label` and `data`."""
    logs: list[dict[str, Any]] = field(default_factory=list)
    """Every `emit_log`: `level` and `message`."""
    error: Optional[str] = None
    """What went wrong, for a person or a model."""
    traceback: Optional[str] = None
    duration_ms: int = 0
    output_bytes: int = 0
    verdict: str = "ok"
    """How it ended: `ok`, `exception`, `no_result`, `exited`, `signaled`, `timeout_wall`,
    `timeout_cpu`, `oom`, `pids`, `disk`, `output`, `cancelled` or `infra`."""
    exit_code: Optional[int] = None
    """What `python FILE` would have ended with. `None` if it was ended by something else."""
    signal: Optional[int] = None
    stdout: str = ""
    stderr: str = ""
    displays: list[Display] = field(default_factory=list)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    files: Files = field(default_factory=Files)
    warnings: list[str] = field(default_factory=list)
    network: list[dict[str, Any]] = field(default_factory=list)
    """Which hosts the script asked for, with the outcome."""
    usage: Usage = field(default_factory=Usage)
    engine: str = ""
    place: Optional[str] = None
    """Where it ran, as the engine calls it: the id of a container."""

    @property
    def failed(self) -> bool:
        """Whether it did not succeed."""
        return not self.success

    def raise_for_verdict(self) -> ExecutionResult:
        """This result, or a `ScriptFailed` if the script failed."""
        if not self.success:
            raise ScriptFailed(self)
        return self

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What a notebook shows: the last thing that was shown, or the text."""
        if self.success and self.displays:
            return harmless(self.displays[-1].data)
        return {"text/plain": self._text()}

    def _text(self) -> str:
        parts = [self.stdout, self.stderr]
        if self.final_data is not None:
            parts.append(json.dumps(self.final_data, ensure_ascii=False))
        if not self.success:
            said = self.traceback or ""
            # A traceback says it all where the script has failed by itself.
            parts += (
                [said] if said and self.verdict == "exception" else [said, f"{self.verdict}: {self.error}"]
            )
        return "\n".join(part.rstrip("\n") for part in parts if part) or repr(self)

    def __repr__(self) -> str:
        shown = [f"verdict={self.verdict!r}"]
        if self.final_data is not None:
            data = repr(self.final_data)
            shown.append(f"final_data={data if len(data) <= 80 else data[:77] + '...'}")
        for name in ("stdout", "stderr"):
            text = getattr(self, name)
            if text:
                shown.append(f"{name}={text if len(text) <= 60 else text[:57] + '...'!r}")
        if self.error:
            shown.append(f"error={self.error if len(self.error) <= 200 else self.error[:197] + '...'!r}")
        if self.files:
            names, more = self.files.names[:5], len(self.files) - 5
            shown.append(
                f"files={[name[:80] for name in names]!r}" + (f" and {more} more" if more > 0 else "")
            )
        return f"ExecutionResult({', '.join(shown)}, duration_ms={self.duration_ms})"


class ScriptFailed(Exception):
    """A script failed, and its caller wanted an exception for that: see `raise_for_verdict`."""

    def __init__(self, result: ExecutionResult) -> None:
        super().__init__(result.traceback or f"{result.verdict}: {result.error}")
        self.result = result

    def __reduce__(self) -> tuple[type[ScriptFailed], tuple[ExecutionResult]]:
        return type(self), (self.result,)


def read_result(parts: tuple[str, list[tuple[str, int, str, str, bool, Any]]]) -> ExecutionResult:
    """A result, from what the native module hands over."""
    text, files = parts
    values = json.loads(text)
    del values["files"]
    if values["displays"]:
        values["displays"] = [Display(each["data"]) for each in values["displays"]]
    values["usage"] = Usage(**values["usage"])
    code = _EXIT_CODES.get(values["verdict"])
    if code is not None:
        values["exit_code"] = code
    return ExecutionResult(
        files=Files(CollectedFile(*each) for each in files) if files else Files(), **values
    )


_EXIT_CODES = {"ok": 0, "exception": 1}
