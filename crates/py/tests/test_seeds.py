"""The examples of the documents that the package keeps the names of: only the import is ours."""

from __future__ import annotations

import asyncio
import re

import pytest

from belljar import (
    Event,
    ExecutionMode,
    FileResource,
    NetworkPolicy,
    ResourceLimits,
    SandboxBuilder,
    SandboxConfig,
    SandboxPool,
    ScriptExecutor,
    ToolParameter,
    ToolRegistry,
    ToolResponse,
    registry,
)


async def test_an_executor_with_a_callback_runs_a_script_of_a_checkout() -> None:
    told: list[str] = []

    async def on_data(event: Event) -> None:
        told.append(f"{event['label']} -> {event['data']}")

    executor = ScriptExecutor(
        limits=ResourceLimits(execution_timeout_sec=10),
        mode=ExecutionMode.PLAN,
        on_intermediate=on_data,
    )
    pool = SandboxPool(registry=ToolRegistry())
    await pool.startup()
    async with pool.checkout("default") as container:
        result = await executor.run(
            container=container,
            script="emit_intermediate('progress', 50); emit_result({'status': 'ok'})",
            execution_id="unique_turn_id_123",
        )
    await pool.shutdown()
    assert result.success
    assert result.final_data == {"status": "ok"}
    assert result.execution_id == "unique_turn_id_123"
    assert told == ["progress -> 50"]


PROFILE = """
res = fetch_user_profile(user_id=USER)

if res.success:
    emit_intermediate("profile_found", {"username": res.data["name"]})
    emit_result({"status": "completed", "points": res.data["loyalty_points"]})
else:
    emit_log(f"Failed to find user: {res.message}", level="warning")
    emit_result({"error": "user_not_found"})
"""


@pytest.mark.parametrize("where", ["host", "guest"])
async def test_a_script_calls_an_async_tool_and_reads_its_response(where: str) -> None:
    tools = ToolRegistry()

    @tools.tool(
        description="A user's profile.",
        parameters=[ToolParameter(name="user_id", type="str", required=True)],
        where=where,
    )
    async def fetch_user_profile(user_id: str):  # type: ignore[no-untyped-def]
        await asyncio.sleep(0)
        if user_id != "user_99":
            return ToolResponse(success=False, message="there is no such user")
        return ToolResponse(success=True, data={"name": "Ada", "loyalty_points": 7})

    async with SandboxPool(registry=tools) as pool, pool.checkout("default") as container:
        known = await ScriptExecutor().run(container, PROFILE.replace("USER", "'user_99'"))
        stranger = await ScriptExecutor().run(container, PROFILE.replace("USER", "'nobody'"))
    assert known.final_data == {"status": "completed", "points": 7}
    assert known.intermediates == [{"label": "profile_found", "data": {"username": "Ada"}}]
    assert stranger.success and stranger.final_data == {"error": "user_not_found"}
    assert stranger.logs == [
        {"level": "warning", "message": "Failed to find user: there is no such user"},
    ]


async def test_a_pool_is_set_up_with_secrets_an_overflow_and_a_path_map() -> None:
    builder = SandboxBuilder(registry)
    pool = SandboxPool(
        registry=registry,
        builder=builder,
        secrets={"DB_PASSWORD": "secure_value"},
        max_overflow=10,
        host_path_map={"/app/data": "/srv/physical_host/data"},
    )
    await pool.startup()
    async with pool.checkout("default") as container:
        assert re.fullmatch("[0-9a-f]{64}", container.container_id)
        assert container.use_count == 0
        assert container.stdin_pipe and container.stdout_pipe
    await pool.shutdown()


def test_a_config_takes_every_field() -> None:
    limits = ResourceLimits(
        cpu_quota=0.5,
        memory_mb=512,
        memory_swap_mb=1024,
        pids_limit=32,
        execution_timeout_sec=60,
        max_output_bytes=1048576,
    )
    policy = NetworkPolicy(
        allowed_hosts=["api.stripe.com", "1.2.3.4"],
        allowed_ports={"api.stripe.com": [443], "1.2.3.4": [8080]},
        default_port=443,
    )
    shared_docs = FileResource(
        host_path="/app/data/docs",
        container_path="/data/docs",
        read_only=True,
        docker_host_path="/srv/prod/agent_docs",
    )
    config = SandboxConfig(
        name="secure_analytics",
        python_version="3.11",
        dependencies=["pandas", "scipy", "httpx"],
        resources=[shared_docs],
        network_policy=policy,
        resource_limits=limits,
        secrets=["STRIPE_KEY", "DB_PASSWORD"],
        execution_mode=ExecutionMode.INTERACTIVE,
        pool_size=5,
        scratch_size_mb=128,
    )
    assert SandboxConfig.from_dict(config.to_dict()) == config
    assert policy.allowlist_env() == "api.stripe.com:443,1.2.3.4:8080"
    assert shared_docs.to_docker_mount()["Source"] == "/srv/prod/agent_docs"
