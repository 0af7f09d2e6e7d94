"""The long form: test programs as everybody, what they leave, and a report in Markdown.

    python3 suites.py WORKSPACE [IDENTITY…]   in the machine, as root

`/job` has `tree` (the sources, with test programs where nextest looks for them), `cargo-nextest` and
`belljar`. Tests know where their sources were when they were compiled, so the tree is shown there.
What is said behind a line `== report` is the report.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import machine

TREE = Path("/job/tree")
# In this order: what fails is told by the quick ones first.
SUITES = {
    "endings": "package(belljar-runtime) & binary(it) & test(/^endings::/)",
    "pool deaths": "package(belljar-runtime) & binary(it) & test(/^(pool_deaths|hosts)::/)",
    "pool": "package(belljar-engine) & binary(pool)",
    "exhaustion": "package(belljar-runtime) & binary(exhaustion)",
    "conformance": "package(belljar-testing) & binary(conformance) & test(native_conforms)",
}
LEFT_OUT = """\
Not run here, as everything is some 20 times slower than on the machine itself: escape, forgery, egress,
secrets, operations and the rest of `it` of `belljar-runtime`; the suites of the other crates; engines
other than native. `make test` runs them. Tests that need the network cannot run: there is none."""
# Nothing may be skipped on a stock machine.
ENVIRONMENT = {
    "BELLJAR_TEST_REQUIRE": "native,cgroup_memory,cgroup_cpu,cgroup_pids",
    "BELLJAR_TEST_SLOWNESS": "10",
    "NO_COLOR": "1",
}
ENDED = re.compile(r"\s+(PASS|LEAK|FAIL|SIG\w+|TIMEOUT|ABORT) \[[^]]*\] (?:\([^)]*\) )?(.*)")


@dataclass
class Suite:
    """How the tests of a suite ended."""

    name: str
    seconds: float = 0
    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    # Tests that pass and say that there was something they could not look at.
    skipped: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return bool(self.passed) and not self.failed and not self.skipped


@dataclass
class Visit:
    """All that was seen as one identity."""

    who: machine.Identity
    place: str
    doctor: str
    counts: str
    left: list[str]
    suites: list[Suite]
    seconds: float

    @property
    def is_good(self) -> bool:
        return not self.left and all(suite.is_good for suite in self.suites)


def run_suite(who: machine.Identity, name: str) -> Suite:
    """Runs the tests of a suite; passes on what they say about failures."""
    command = [
        "/job/cargo-nextest",
        "nextest",
        "run",
        *("--binaries-metadata", f"{TREE}/target/nextest/binaries-metadata.json"),
        *("--cargo-metadata", f"{TREE}/target/nextest/cargo-metadata.json"),
        *("--workspace-remap", str(TREE), "--target-dir-remap", f"{TREE}/target"),
        *("--config-file", f"{TREE}/.config/nextest.toml", "--profile", "vm"),
        *("--color", "never", "--status-level", "all", "--success-output", "immediate"),
        *("--filterset", SUITES[name]),
    ]
    begun, suite, current = time.monotonic(), Suite(name), ""
    started = who.command(*command, **ENVIRONMENT)
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            told = ENDED.match(line)
            if told:
                current = told[2].strip()
                (suite.passed if told[1] == "PASS" else suite.failed).append(current)
                print(f"{who.name:<14} {line.strip()}", flush=True)
            elif ": skipped (" in line:
                suite.skipped.append(f"{current}: {line.strip()}")
            elif current in suite.failed:
                print(f"    {line.rstrip()}", flush=True)
            if line.strip().startswith("Summary ["):
                break
        for _ in running.stdout:
            pass  # The failures again.
    if running.returncode != 0 and not suite.failed:
        suite.failed.append(f"nextest ended with {running.returncode}")
    suite.seconds = time.monotonic() - begun
    return suite


def visit(who: machine.Identity) -> Visit:
    """Runs everything as one identity, and looks at what is left."""
    begun = time.monotonic()
    shown = "cat /proc/self/cgroup; loginctl --no-legend --no-pager list-sessions || true"
    place = output_of(who.command("sh", "-c", shown))
    before = machine.Census.taken()
    doctor = output_of(who.command("/job/belljar", "doctor"))
    suites = [run_suite(who, name) for name in SUITES]
    left = before.left_over()
    return Visit(who, place, doctor, before.counts(), left, suites, time.monotonic() - begun)


def output_of(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout.strip()


def report(visits: list[Visit], seconds: float) -> str:
    """Everything that was seen, in Markdown."""
    systemd = output_of(["systemctl", "--version"]).splitlines()[0]
    lines = [
        "# Report of `make test-vm`",
        "",
        "Written by `scripts/test-vm`; docs/vm.md says how to read it.",
        "",
        f"Linux {platform.release()}, {systemd}, {time.strftime('%Y-%m-%d')}; {seconds / 60:.0f} minutes.",
        "",
        "| started as | suite | passed | failed | skipped | seconds |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {seen.who.name} | {suite.name} | {len(suite.passed)} | {len(suite.failed)} "
        f"| {len(suite.skipped)} | {suite.seconds:.0f} |"
        for seen in visits
        for suite in seen.suites
    ]
    lines += ["", *LEFT_OUT.splitlines()]
    for seen in visits:
        lines += ["", f"## {seen.who.name}: {seen.who.about}", "", "```text", seen.place, "```", ""]
        lines += [f"{seen.seconds:.0f} s. There were {seen.counts}; left over: {seen.left or 'nothing'}."]
        for what, names in (("Failed", "failed"), ("Skipped", "skipped")):
            told = [name for suite in seen.suites for name in getattr(suite, names)]
            lines += ["", f"{what}:", "", *(f"- `{name}`" for name in told)] if told else []
        lines += ["", "```text", seen.doctor, "```"]
    return "\n".join(lines)


def main(workspace: str, names: list[str]) -> int:
    begun = time.monotonic()
    # Any of those who run tests may write here.
    subprocess.run(["chmod", "-R", "a+rwX", str(TREE)], check=True)
    Path(workspace).parent.mkdir(parents=True, exist_ok=True)
    Path(workspace).symlink_to(TREE)
    visits = [visit(who) for who in machine.IDENTITIES if not names or who.name in names]
    print("== report")
    print(report(visits, time.monotonic() - begun), flush=True)
    return 0 if visits and all(seen.is_good for seen in visits) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
