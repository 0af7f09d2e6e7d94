"""The long form: test programs as everybody, what they leave, and a report in Markdown.

    python3 suites.py WORKSPACE [IDENTITY…] [SUITE…]   in the machine, as root

`/job` has `tree` (the sources, with test programs where nextest looks for them), `cargo-nextest` and
`belljar`. Tests know where their sources were when they were compiled, so the tree is shown there.
What is said between `== report` and `== end of report` is the report; the last one counts.
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
# A suite: the program and the beginning of the names of its tests, as nextest tells them.
SUITES = {
    "endings": ("belljar-runtime::it", ("endings::",)),
    "deaths": ("belljar-runtime::it", ("pool_deaths::", "hosts::")),
    "exhaustion": (
        "belljar-runtime::exhaustion",
        ("memory::", "processes::", "time::processor", "time::half_a_core", "usage::"),
    ),
    "conformance": ("belljar-testing::conformance", ("native_conforms",)),
}
# In a delegated unit systemd is asked for no scope, so there is none to end.
ABOUT_SCOPES = "pool_deaths::a_scope_"
LEFT_OUT = """\
Not run here, as everything is some 20 times slower than on the machine itself: escape, forgery, egress,
secrets, operations and the rest of `it` and `exhaustion` of `belljar-runtime`; the suites of the other
crates; engines other than native. `make test` runs them. There is no network in the machine."""
# Nothing may be skipped on a stock machine.
ENVIRONMENT = {
    "BELLJAR_TEST_REQUIRE": "native,cgroup_memory,cgroup_cpu,cgroup_pids",
    "BELLJAR_TEST_SLOWNESS": "10",
    "NO_COLOR": "1",
}
ENDED = re.compile(r"\s+(PASS|LEAK|FAIL|SIG\w+|TIMEOUT|ABORT) \[\s*([\d.]+)s\] (?:\([^)]*\) )?(.*)")


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
    # Nextest's own exit code: it may end before all its tests have.
    code: int
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.code == 0 and not self.left and all(suite.is_good for suite in self.suites)


def filterset(suites: list[str], is_delegated: bool) -> str:
    """Suites, as nextest is asked for them."""
    chosen = [SUITES[name] for name in suites]
    every = " | ".join(f"(binary_id({program}) & test(/^({'|'.join(tests)})/))" for program, tests in chosen)
    return f"({every}) - test(/^{ABOUT_SCOPES}/)" if is_delegated else every


def suite_of(test: str) -> str:
    """Which suite has a test that nextest tells as `program name`."""
    program, name = test.split()
    return next(suite for suite, (own, names) in SUITES.items() if own == program and name.startswith(names))


def run_suites(who: machine.Identity, names: list[str]) -> tuple[list[Suite], int]:
    """Runs the tests of all suites at once, so that short ones pass the time of long ones."""
    command = [
        *(
            "/job/cargo-nextest",
            "nextest",
            "run",
            "--profile",
            "vm",
            "--filterset",
            filterset(names, who.is_delegated),
        ),
        *("--binaries-metadata", f"{TREE}/target/nextest/binaries-metadata.json"),
        *("--cargo-metadata", f"{TREE}/target/nextest/cargo-metadata.json"),
        *("--workspace-remap", str(TREE), "--target-dir-remap", f"{TREE}/target"),
        *("--config-file", f"{TREE}/.config/nextest.toml"),
        *("--color", "never", "--status-level", "pass", "--success-output", "immediate"),
    ]
    suites, test = {name: Suite(name) for name in names}, ""
    started = who.command(*command, **ENVIRONMENT)
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.strip().startswith("Summary ["):
                break
            if told := ENDED.match(line):
                test = told[3].strip()
                suite = suites[suite_of(test)]
                suite.seconds += float(told[2])
                (suite.passed if told[1] in ("PASS", "LEAK") else suite.failed).append(test)
                print(f"{who.name:<14} {line.strip()}", flush=True)
            elif test and ": skipped (" in line:
                suites[suite_of(test)].skipped.append(f"{test}: {line.strip()}")
            elif not test or test in suites[suite_of(test)].failed:
                # Some quote megabytes, and the line to the outside is a slow one.
                print(f"    {line.rstrip()[:400]}", flush=True)
        for _ in running.stdout:
            pass  # The failures again.
    return list(suites.values()), running.returncode


def visit(who: machine.Identity, suite_names: list[str]) -> Visit:
    """Runs everything as one identity, and looks at what is left."""
    begun = time.monotonic()
    shown = "cat /proc/self/cgroup; loginctl --no-legend --no-pager list-sessions || true"
    place = output_of(who.command("sh", "-c", shown))
    before = machine.Census.taken()
    doctor = output_of(who.command("/job/belljar", "doctor"))
    suites, code = run_suites(who, suite_names)
    left = before.left_over()
    return Visit(who, place, doctor, before.counts(), left, suites, code, time.monotonic() - begun)


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
    missing = [who.name for who in machine.IDENTITIES if who not in [seen.who for seen in visits]]
    missing += [name for name in SUITES if name not in [suite.name for suite in visits[0].suites]]
    lines += ["", f"**Not complete**, without: {', '.join(missing)}."] if missing else []
    lines += ["", *LEFT_OUT.splitlines()]
    for seen in visits:
        lines += ["", f"## {seen.who.name}: {seen.who.about}", "", "```text", seen.place, "```", ""]
        lines += [
            f"{seen.seconds:.0f} s, nextest ended with {seen.code}. There were {seen.counts}; left over: {seen.left or 'nothing'}."
        ]
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
    # Without a name of its kind, everything.
    identities = [who for who in machine.IDENTITIES if who.name in names] or machine.IDENTITIES
    suites = [name for name in SUITES if name in names] or list(SUITES)
    visits: list[Visit] = []
    for who in identities:
        visits.append(visit(who, suites))
        # Of all so far, in case that time runs out.
        print(f"== report\n{report(visits, time.monotonic() - begun)}\n== end of report", flush=True)
    return 0 if visits and all(seen.is_good for seen in visits) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
