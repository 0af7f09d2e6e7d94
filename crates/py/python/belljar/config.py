"""What is in a sandbox, and what it may do: plain data, checked when it is made."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Optional, Union

from ._native import is_there, native

__all__ = [
    "ExecutionMode",
    "FileResource",
    "Injection",
    "NetworkPolicy",
    "ResourceLimits",
    "SandboxConfig",
]

StrPath = Union[str, "os.PathLike[str]"]


class ExecutionMode(str, Enum):
    """How a script is run.

    In `PLAN`, a script must call `emit_result`. In `INTERACTIVE`, scripts are steps of a session that
    keeps its variables. In `SCRIPT`, a script is what `python FILE` would make of it: no result is
    needed, and its exit code counts.
    """

    PLAN = "plan"
    INTERACTIVE = "interactive"
    SCRIPT = "script"

    def __str__(self) -> str:
        return self.value


def _plain(value: Any) -> Any:
    """A value as JSON has it. What is `None` is left out: then the default counts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))
        return {name: _plain(item) for name, item in fields if item is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value


def _check(**parts: Any) -> None:
    """Refuses what breaks a rule, by the rules that the command and the library have."""
    if is_there():
        native.check_config(json.dumps({name: _plain(part) for name, part in parts.items()}))


@dataclass
class ResourceLimits:
    """How much one run may use before it is ended.

    >>> ResourceLimits(memory_mb=512, memory_swap_mb=256)
    Traceback (most recent call last):
        ...
    belljar.errors.ConfigError: ...
    """

    cpu_quota: float = 0.5
    """Processor cores, with fractions."""
    memory_mb: int = 256
    """Memory of the whole process tree in MiB, scratch files included."""
    memory_swap_mb: int = -1
    """Memory and swap together in MiB. -1 is no swap."""
    pids_limit: int = 64
    """Processes and threads at one time."""
    execution_timeout_sec: float = 30
    """Seconds that a script may take."""
    max_output_bytes: int = 1_048_576
    """Bytes of events, stdout and stderr together."""
    cpu_time_sec: Optional[float] = None
    """Seconds of processor time of a script and everything it starts. `None`: the clock alone."""
    open_files: int = 1024
    """Descriptors that one process may hold."""

    def __post_init__(self) -> None:
        _check(resource_limits=self)


@dataclass
class Injection:
    """A credential that the proxy adds to requests, and that no script ever has."""

    host: str
    header: str
    secret: str
    prefix: str = ""
    terminate_tls: bool = False


@dataclass
class NetworkPolicy:
    """Which hosts a sandbox may talk to. By default there are none.

    >>> NetworkPolicy(allowed_hosts=["api.example.com"]).allowlist_env()
    'api.example.com:443'
    """

    allowed_hosts: list[str] = field(default_factory=list)
    """Names, `*.suffix` for every name below it, or addresses."""
    allowed_ports: dict[str, list[int]] = field(default_factory=dict)
    """Ports of some of those hosts. The others have `default_port` alone."""
    default_port: int = 443
    plain_hosts: list[str] = field(default_factory=list)
    """Hosts whose tunnels may carry something other than TLS: a database, SSH."""
    inject: list[Injection] = field(default_factory=list)
    """Credentials that some of those hosts get, and the script never sees."""

    def __post_init__(self) -> None:
        _check(network_policy=self)

    @property
    def is_isolated(self) -> bool:
        """Whether no host is allowed. Then there is no network at all."""
        return not self.allowed_hosts

    def allowlist_env(self) -> str:
        """The policy in one line: `host:port,host:port`."""
        return native.allowlist(json.dumps(_plain(self)))


@dataclass
class FileResource:
    """A file or directory of this machine that a sandbox sees. It is read-only unless said otherwise."""

    host_path: StrPath
    """Its path for this process."""
    container_path: str
    """Its path for the script: absolute, usually below `/data`."""
    read_only: bool = True
    docker_host_path: Optional[StrPath] = None
    """Its path for a Docker daemon, if this process is in a container itself."""

    def to_docker_mount(self, resolved_host_path: Optional[StrPath] = None) -> dict[str, Any]:
        """The mount: `resolved_host_path` first, then `docker_host_path`, then `host_path`."""
        source = resolved_host_path or self.docker_host_path or self.host_path
        return {
            "Type": "bind",
            "Source": os.fspath(source),
            "Target": self.container_path,
            "ReadOnly": self.read_only,
        }


@dataclass
class SandboxConfig:
    """The whole description of an environment. A config that breaks a rule is a `ConfigError`.

    >>> SandboxConfig(name="analytics", dependencies=["pandas"]).pool_size
    2
    """

    name: str = "default"
    python_version: Optional[str] = None
    """Such as `"3.11"`. `None`: the nearest interpreter there is."""
    dependencies: list[str] = field(default_factory=list)
    """Packages, as pip has them. They are installed once, and mounted read-only."""
    resources: list[FileResource] = field(default_factory=list)
    network_policy: NetworkPolicy = field(default_factory=NetworkPolicy)
    resource_limits: ResourceLimits = field(default_factory=ResourceLimits)
    secrets: list[str] = field(default_factory=list)
    """Names. The values are the runtime's or the pool's."""
    execution_mode: ExecutionMode = ExecutionMode.PLAN
    pool_size: int = 2
    """How many cells are kept warm."""
    scratch_size_mb: int = 64
    """Size of `/workspace`. It is memory."""
    base_image: Optional[str] = None
    """The image to build on, for containers."""
    env: dict[str, str] = field(default_factory=dict)
    preload: Optional[list[str]] = None
    """Modules to import before any script comes. `None`: those of dependencies and tools."""
    allow_source_builds: bool = False
    require: list[str] = field(default_factory=list)
    """Protections that it refuses to run without, by the names that `belljar doctor` has."""

    def __post_init__(self) -> None:
        self.execution_mode = ExecutionMode(self.execution_mode)
        if is_there():
            native.check_config(self.to_json())

    @classmethod
    def default(cls, name: str = "default") -> SandboxConfig:
        """The default environment of that name."""
        return cls(name=name)

    @classmethod
    def from_toml(cls, text: str) -> SandboxConfig:
        """Reads what `belljar run --sandbox FILE` reads."""
        return cls.from_dict(json.loads(native.read_config(text)))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SandboxConfig:
        """Reads what `to_dict` writes. An unknown key is an error."""
        values = dict(values)
        policy = values.get("network_policy")
        if isinstance(policy, Mapping):
            given: dict[str, Any] = dict(policy)
            given["inject"] = [Injection(**each) for each in given.get("inject", [])]
            values["network_policy"] = NetworkPolicy(**given)
        if isinstance(values.get("resource_limits"), Mapping):
            values["resource_limits"] = ResourceLimits(**values["resource_limits"])
        values["resources"] = [
            each if isinstance(each, FileResource) else FileResource(**each)
            for each in values.get("resources", [])
        ]
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The config as plain data."""
        return _plain(self)  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The config as every surface of Belljar writes it."""
        return json.dumps(self.to_dict())

    def with_tool_dependencies(self, extra: Iterable[str]) -> SandboxConfig:
        """This config with more dependencies, each once."""
        return dataclasses.replace(self, dependencies=list(dict.fromkeys([*self.dependencies, *extra])))


def make_config(
    config: Union[SandboxConfig, str, None],
    *,
    allow_hosts: Optional[Sequence[str]] = None,
    memory_mb: Optional[int] = None,
    timeout: Optional[float] = None,
    cpus: Optional[float] = None,
    **values: Any,
) -> SandboxConfig:
    """A config from what a caller gives by hand. Without one, scripts are run as `python FILE` would."""
    if isinstance(config, SandboxConfig):
        config = dataclasses.replace(config, **values) if values else config
    else:
        if config is not None:
            values["name"] = config
        values.setdefault("execution_mode", ExecutionMode.SCRIPT)
        config = SandboxConfig(**values)
    if isinstance(allow_hosts, str):
        allow_hosts = [allow_hosts]
    if allow_hosts is not None:
        hosts = [*config.network_policy.allowed_hosts, *allow_hosts]
        policy = dataclasses.replace(config.network_policy, allowed_hosts=hosts)
        config = dataclasses.replace(config, network_policy=policy)
    given = {"memory_mb": memory_mb, "execution_timeout_sec": timeout, "cpu_quota": cpus}
    limits: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if limits:
        config = dataclasses.replace(
            config, resource_limits=dataclasses.replace(config.resource_limits, **limits)
        )
    return config
