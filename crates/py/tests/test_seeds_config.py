"""What the documents say of configs and registries."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

import belljar
from belljar import (
    ConfigError,
    ExecutionMode,
    FileResource,
    NetworkPolicy,
    ResourceLimits,
    SandboxBuilder,
    SandboxConfig,
    SandboxPool,
    ScriptExecutor,
    ToolRegistry,
)


def test_defaults_are_those_of_the_documents() -> None:
    limits, config = ResourceLimits(), SandboxConfig()
    assert (limits.cpu_quota, limits.memory_mb, limits.memory_swap_mb) == (0.5, 256, -1)
    assert (limits.pids_limit, limits.execution_timeout_sec, limits.max_output_bytes) == (64, 30, 1_048_576)
    assert (config.name, config.pool_size, config.scratch_size_mb) == ("default", 2, 64)
    assert config.execution_mode is ExecutionMode.PLAN
    assert config.network_policy.default_port == 443


@pytest.mark.parametrize("memory", [0, -1])
def test_memory_must_be_positive(memory: int) -> None:
    with pytest.raises(ValueError, match="memory_mb"):
        ResourceLimits(memory_mb=memory)


@pytest.mark.parametrize("swap", [256, 511, 512, 0, -2])
def test_swap_must_be_more_than_memory(swap: int) -> None:
    with pytest.raises(ValueError, match="memory_swap_mb"):
        ResourceLimits(memory_mb=512, memory_swap_mb=swap)


def test_swap_may_be_unlimited_or_more_than_memory() -> None:
    assert ResourceLimits(memory_mb=512, memory_swap_mb=-1).memory_swap_mb == -1
    assert ResourceLimits(memory_mb=512, memory_swap_mb=513).memory_swap_mb == 513


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_time_limit_of_nothing_is_refused(seconds: float) -> None:
    # Elsewhere 0 means that there is no limit at all.
    with pytest.raises(ConfigError, match="execution_timeout_sec"):
        ResourceLimits(execution_timeout_sec=seconds)


def test_a_policy_without_hosts_is_isolated() -> None:
    assert NetworkPolicy().is_isolated
    assert NetworkPolicy().allowlist_env() == ""
    assert not NetworkPolicy(allowed_hosts=["api.stripe.com"]).is_isolated


def test_an_allowlist_has_every_port_of_a_host_and_the_default_elsewhere() -> None:
    policy = NetworkPolicy(allowed_hosts=["a.example", "b.example"], allowed_ports={"a.example": [80, 8080]})
    assert policy.allowlist_env() == "a.example:80,a.example:8080,b.example:443"


def test_a_mount_prefers_the_resolved_path_then_dockers_then_the_own() -> None:
    plain = FileResource(host_path="/app/data/docs", container_path="/data/docs")
    mapped = FileResource("/app/data/docs", "/data/docs", docker_host_path="/srv/docs")
    assert plain.to_docker_mount()["Source"] == "/app/data/docs"
    assert mapped.to_docker_mount()["Source"] == "/srv/docs"
    assert mapped.to_docker_mount("/mapped/docs")["Source"] == "/mapped/docs"
    assert mapped.to_docker_mount()["Target"] == "/data/docs"
    assert mapped.to_docker_mount()["ReadOnly"] is True


def test_a_config_with_dependencies_of_tools_is_another() -> None:
    config = SandboxConfig(dependencies=["pandas", "scipy"])
    more = config.with_tool_dependencies(["httpx", "pandas"])
    assert more.dependencies == ["pandas", "scipy", "httpx"]
    assert config.dependencies == ["pandas", "scipy"]


async def test_a_sandbox_that_is_not_registered_is_a_value_error() -> None:
    tools = ToolRegistry()
    with pytest.raises(ValueError, match="'analytics'"):
        await SandboxBuilder(tools).ensure_sandbox("analytics")
    with pytest.raises(ValueError, match="'analytics'"):
        SandboxBuilder(tools).checksum("analytics")
    with pytest.raises(ValueError, match="'analytics'"):
        await SandboxPool(tools).startup(["analytics"])


def test_a_tool_with_dependencies_or_secrets_runs_in_the_cell() -> None:
    tools = ToolRegistry([])

    @tools.tool(dependencies=["httpx"], secrets=["STRIPE_KEY"])
    def charge(amount: int) -> int:
        return amount

    @tools.tool
    def here(amount: int) -> int:
        return amount

    tools.register_sandbox(SandboxConfig(dependencies=["pandas"], secrets=["DB_PASSWORD"]))
    assert {each.name: each.where for each in tools.all_tools()} == {"charge": "guest", "here": "host"}
    config = tools.config_for("default")
    assert config.dependencies == ["pandas", "httpx"] == tools.aggregate_dependencies("default")
    assert config.secrets == ["DB_PASSWORD", "STRIPE_KEY"] == tools.aggregate_secrets("default")


def test_a_tool_file_that_does_not_load_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def tool(:\n")
    with pytest.raises(belljar.BelljarError, match="broken.py"):
        belljar.run("pass", tools=ToolRegistry().guest(tmp_path))


def test_a_name_of_a_built_sandbox_changes_with_what_is_in_it() -> None:
    def checksum(**fields: Any) -> str:
        tools = ToolRegistry()
        tools.register_sandbox(SandboxConfig(**fields))
        return SandboxBuilder(tools).checksum("default")

    assert checksum() == checksum()
    assert len({checksum(), checksum(python_version="3.11"), checksum(python_version="3.12")}) == 3
    assert checksum(dependencies=["six"]) != checksum()

    tools = ToolRegistry()
    before = SandboxBuilder(tools).checksum("default")
    tools.add(function_for(1))
    assert SandboxBuilder(tools).checksum("default") != before


def function_for(number: int) -> object:
    def answer() -> int:
        return number

    return answer


def test_a_resource_is_seen_and_cannot_be_changed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "doc.txt").write_text("known")
    seen = belljar.run(
        "print(open('/data/docs/doc.txt').read())\nopen('/data/docs/doc.txt', 'w')",
        resources=[FileResource(host_path=tmp_path, container_path="/data/docs")],
    )
    assert seen.stdout == "known\n"
    assert seen.verdict == "exception" and "Read-only file system" in str(seen.error)
    assert (tmp_path / "doc.txt").read_text() == "known"


REACH = """
import os
import socket
for host in {hosts!r}:
    try:
        socket.create_connection((host, {port}), timeout=5)
    except OSError as error:
        print("no")
    else:
        print("yes")
"""


def test_an_isolated_sandbox_reaches_nothing_of_this_machine() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        addresses = ["127.0.0.1", *{each[4][0] for each in socket.getaddrinfo(socket.gethostname(), port)}]
        tried = belljar.run(REACH.format(hosts=addresses, port=port))
    assert set(tried.stdout.split()) == {"no"}, tried
    interfaces = belljar.run(
        "print([line.split(':')[0].strip() for line in list(open('/proc/net/dev'))[2:]])"
    )
    assert interfaces.stdout == "['lo']\n"


FETCH = """
import urllib.request
try:
    urllib.request.urlopen("https://{host}/")
except OSError as error:
    print(error)
"""


def test_each_sandbox_has_its_own_allowlist() -> None:
    both = [belljar.Sandbox(allow_hosts=[host]) for host in ("a.invalid", "b.invalid")]
    runs = [sandbox.run(FETCH.format(host="b.invalid")).wait() for sandbox in both]
    verdicts = [[(each["host"], each["verdict"]) for each in run.network] for run in runs]
    assert verdicts[0] == [("b.invalid", "denied")]
    assert "denied" not in dict(verdicts[1]).values(), "it is allowed, though there is no such host"


def test_an_address_that_is_not_listed_is_denied() -> None:
    run = belljar.run(FETCH.format(host="1.2.3.4"), allow_hosts=["api.example.com"])
    assert [(each["host"], each["verdict"]) for each in run.network] == [("1.2.3.4", "denied")]


async def test_a_tools_secret_reaches_the_tool_and_stays_out_of_results() -> None:
    tools = ToolRegistry()

    @tools.tool(secrets=["STRIPE_KEY"])
    def charge(amount: int):  # type: ignore[no-untyped-def]
        return len(os.environ["STRIPE_KEY"]) + amount

    async with SandboxPool(tools, secrets={"STRIPE_KEY": "sk_live_0123456789"}) as pool:
        async with pool.checkout() as container:
            script = "print(os.environ['STRIPE_KEY']); emit_result([charge(1), os.environ['STRIPE_KEY']])"
            result = await ScriptExecutor().run(container, script)
    assert result.final_data == [19, "***"]
    assert result.stdout == "***\n"
