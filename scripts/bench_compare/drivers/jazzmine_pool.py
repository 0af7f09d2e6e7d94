"""The tool sandbox of jazzmine: checkout, run, return, on a pool of two containers. Removes its image and network at the end."""

import asyncio
import importlib.metadata
import importlib.util
import os
import sys
import types

from serving import serve

NAME = f"belljar-bench-{os.getpid()}"


def _import_tools():
    """`jazzmine.core.tools` without the rest of the package, whose dependencies are large and not installed."""
    root = importlib.util.find_spec("jazzmine").submodule_search_locations[0]
    for name, path in (("jazzmine", root), ("jazzmine.core", os.path.join(root, "core"))):
        package = types.ModuleType(name)
        package.__path__ = [path]
        sys.modules[name] = package
    from jazzmine.core import tools

    return tools


def add(a: int, b: int):
    return a + b


def _pool_of_two(tools):
    registry = tools.ToolRegistry()
    registry.register_sandbox(tools.SandboxConfig(name=NAME, pool_size=2))
    # Its images cannot be built without a tool.
    tools.tool(description="adds", parameters=[], sandbox=NAME, _registry=registry)(add)
    builder = tools.SandboxBuilder(registry)
    return tools.SandboxPool(registry, builder), builder


def main():
    tools = _import_tools()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    pool, builder = _pool_of_two(tools)
    executor = tools.ScriptExecutor()

    async def cycle():
        async with pool.checkout(NAME) as container:
            result = await executor.run(container, "emit_result({'a': 1})")
        return result.final_data if result.success else result.error

    try:
        loop.run_until_complete(pool.startup([NAME]))
        serve(importlib.metadata.version("jazzmine"), lambda: loop.run_until_complete(cycle()))
    finally:
        loop.run_until_complete(pool.shutdown())
        _remove_traces(builder)


def _remove_traces(builder):
    docker = builder._docker
    for network in docker.networks.list(names=[NAME]):
        network.remove()
    for image in docker.images.list():
        for tag in image.tags:
            if NAME in tag:
                docker.images.remove(tag)
