"""Where nothing can run: the package is imported all the same, and says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import belljar
from belljar import _native

PACKAGE = Path(belljar.__file__).parent


def without_native(tmp_path: Path, source: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with the package as machines have it for which there is no native module."""
    place = tmp_path / "belljar"
    place.mkdir()
    for file in PACKAGE.rglob("*.py"):
        to = place / file.relative_to(PACKAGE)
        to.parent.mkdir(exist_ok=True)
        to.write_text(file.read_text())
    return subprocess.run(
        [sys.executable, "-c", source],
        env={**os.environ, "PYTHONPATH": str(tmp_path), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_package_is_imported_where_there_is_no_native_module(tmp_path: Path) -> None:
    source = """
import sys
import belljar
assert not belljar._native.is_there()
config = belljar.SandboxConfig(name="plain", resource_limits=belljar.ResourceLimits(memory_mb=64))
print(config.to_json() != "")

@belljar.tool
def area(width: float) -> float:
    "Of a square."
    return width * width

try:
    belljar.run("print(1)")
except belljar.Unavailable as error:
    print(error)
"""
    done = without_native(tmp_path, source)
    first, said = done.stdout.split("\n", 1)
    assert first == "True", done.stderr
    assert "native module is missing" in said and "CPython 3.9" in said


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_other_systems_are_told_what_works_there(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    said = _native.explain(ImportError("no module"))
    assert system in said and 'engine="docker"' in said and "server" in said


def test_a_machine_without_user_namespaces_says_what_is_missing(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root makes cells without them")
    limits = Path("/proc/sys/user/max_user_namespaces")
    if not limits.exists():
        pytest.skip("this kernel has no such setting")
    # In a user namespace of its own, a user may forbid more of them.
    source = (
        "import belljar\n"
        "try:\n    belljar.run('print(1)')\n"
        "except belljar.BelljarError as error:\n    print(error)\n"
    )
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", script, "-", sys.executable, "-c", source],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "user namespace" in done.stdout, done


def test_an_engine_that_is_not_there_is_an_error_with_its_address() -> None:
    runtime = belljar.Runtime("docker", docker_host="unix:///nowhere/docker.sock")
    with pytest.raises(belljar.BelljarError, match="/nowhere/docker.sock"):
        runtime.open().wait()
    with pytest.raises(ValueError, match="native, docker or local"):
        belljar.Runtime("moon").open().wait()


def test_the_local_engine_says_that_it_isolates_nothing() -> None:
    with belljar.Runtime("local") as runtime:
        sandbox = runtime.sandbox()
        assert sandbox.run("print(1)").wait().stdout == "1\n"
        states = {each.name: each.state for each in runtime.protections().wait()}
        assert states["network_namespace"] == "missing"


def test_the_docker_engine_runs_the_same_scripts() -> None:
    runtime = belljar.Runtime("docker")
    try:
        runtime.open().wait()
    except belljar.BelljarError as error:
        if "docker" in os.environ.get("BELLJAR_TEST_REQUIRE", ""):
            raise
        pytest.skip(f"docker: {error}")
    with runtime:
        sandbox = runtime.sandbox(belljar.SandboxConfig())
        result = sandbox.run("emit_result(os.getuid())").wait()
        assert (result.final_data, result.engine) == (1000, "docker") and result.place
        if runtime._options["proxy_program"] is None:
            pytest.skip("the belljar command, which is the proxy, is not installed beside the package")
        # The command that came with the package is the proxy.
        script = """
import urllib.request, urllib.error
try:
    urllib.request.urlopen("http://evil.example/")
except urllib.error.HTTPError as error:
    emit_result(error.code)
"""
        networked = runtime.sandbox(belljar.SandboxConfig(), allow_hosts=["api.example.com"])
        assert networked.run(script).wait().final_data == 403
