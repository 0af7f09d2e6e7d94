"""What is compared. A candidate is opened once, asked for some jobs in every round, and closed.

To open is to look whether it is there (`Absent`, with a reason, if not), to make what a user would keep between jobs, and to do
one job that is not counted. `jobs` gives a `Sample` or raises `Failure`.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass

from . import venv
from .channel import Channel, Failure
from .command import run
from .presence import IMAGE, Absent, Setting, need_belljar, need_docker, need_package
from .report import Freshness, percentile

RESULT = {"a": 1}
SCRIPT = "import json; print(json.dumps({'a': 1}))"
BELLJAR_SCRIPT = "emit_result({'a': 1})"
WARM, MAKING = "warm run, never-used cell", "cell creation"
CYCLE = "checkout, run, return"
CALL = "host tool, from call to answer"
BENCH_S = 60

IMPORTED_AHEAD = "imported ahead"
IMPORTED_EACH_TIME = "imported by each job"


@dataclass(frozen=True)
class Sample:
    """One round's figures."""

    n: int
    p50_ms: float
    p95_ms: float
    times_ms: list[float] | None = None  # each of them, where the candidate tells


class Candidate:
    name: str
    what: str
    per_round: int
    fresh: Freshness
    version = ""
    note = ""  # what a reader of its figures has to know
    against = "belljar"  # who does the same job

    def open(self, setting: Setting) -> None:
        raise NotImplementedError

    def jobs(self, count: int, rest_s: float) -> Sample:
        raise NotImplementedError

    def close(self) -> None:
        """Leaves nothing behind; also after an `open` that failed."""


class Command(Candidate):
    """A process for each job."""

    command: list[str]
    given = ""

    def jobs(self, count: int, rest_s: float) -> Sample:
        times = []
        for _ in range(count):
            time.sleep(rest_s)
            begun = time.perf_counter()
            printed = run(self.command, given=self.given)
            times.append((time.perf_counter() - begun) * 1000)
            self.check(printed)
        return of_times(times)

    def check(self, printed: str) -> None:
        try:
            right = self.result(json.loads(printed)) == RESULT
        except (ValueError, KeyError):
            right = False
        if not right:
            raise Failure(f"wrong result: {printed.strip()[:200]!r}")

    def result(self, answer: dict) -> object:
        return answer


class Driver(Candidate):
    """A library, driven in an interpreter of its own."""

    channel: Channel | None = None

    def jobs(self, count: int, rest_s: float) -> Sample:
        return of_times(self.channel.jobs(count, rest_s))

    def drive(self, python: str, module: str, *arguments: str) -> None:
        self.channel = Channel(python, module, *arguments)
        self.version = self.channel.version

    def close(self) -> None:
        if self.channel:
            self.channel.close()


def of_times(times: list[float]) -> Sample:
    return Sample(len(times), percentile(times, 0.5), percentile(times, 0.95), times)


class Belljar(Candidate):
    name, what, per_round = "belljar", "belljar: warm run, never-used cell", 30
    fresh = Freshness(
        "never-used clone of a warmed CPython",
        "namespaces, seccomp, Landlock, cgroup; no network",
        IMPORTED_AHEAD,
    )

    def open(self, setting: Setting) -> None:
        self.program = need_belljar(setting)
        self.version = belljar_version(self.program)
        self.jobs(1, 0)

    def jobs(self, count: int, rest_s: float) -> Sample:
        """`belljar bench` rests 10 ms before each of these calls by itself, and checks their results."""
        told = bench(self.program, count)
        warm, making = figure(told, WARM), figure(told, MAKING)
        self.note = (
            f"cells are made ahead, off the clock ({making['p50_us'] / 1000:.1f} ms each, p50 of the last round); "
            "p50 is the median of its rounds', p95 that of its worst round; its job answers {'s': 'ok'}"
        )
        return Sample(warm["count"], warm["p50_us"] / 1000, warm["p95_us"] / 1000)


class BelljarRun(Command):
    name, what, per_round = "belljar-run", "belljar run: a whole process", 6
    fresh = Freshness("new CPython, template and cell", Belljar.fresh.confined_by, IMPORTED_EACH_TIME)

    def open(self, setting: Setting) -> None:
        self.command = [need_belljar(setting), "run", "--json", "-"]
        self.given = BELLJAR_SCRIPT
        self.version = belljar_version(self.command[0])
        self.jobs(1, 0)

    def result(self, answer: dict) -> object:
        return answer["final_data"]


class Python(Command):
    name, what, per_round = "python", "python3 -c in a subprocess", 12
    fresh = Freshness("new CPython", "nothing", IMPORTED_EACH_TIME)

    def open(self, setting: Setting) -> None:
        self.command = [setting.python, "-c", SCRIPT]
        self.version = run(
            [setting.python, "-c", "import platform; print(platform.python_version())"]
        ).strip()
        self.jobs(1, 0)


class Bubblewrap(Command):
    name, what, per_round = "bwrap", "bubblewrap + python3 -c", 12
    fresh = Freshness("new CPython", "namespaces; no network; host files readable", IMPORTED_EACH_TIME)

    def open(self, setting: Setting) -> None:
        bwrap = shutil.which("bwrap")
        if not bwrap:
            raise Absent("no bwrap on the path (package bubblewrap)")
        view = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        self.command = [
            bwrap,
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            *view,
            setting.python,
            "-c",
            SCRIPT,
        ]
        self.version = run([bwrap, "--version"]).split()[-1]
        self.jobs(1, 0)


class ForkServer(Driver):
    name, what, per_round = "forkserver", "multiprocessing fork server", 20
    fresh = Freshness("never-used fork of a warmed CPython", "nothing", IMPORTED_AHEAD)

    def open(self, setting: Setting) -> None:
        self.drive(setting.python, "fork_server")


class Monty(Driver):
    name, what, per_round = "monty", "Monty: a session in a pooled worker", 40
    fresh = Freshness(
        "new session in a used worker; not CPython", "an interpreter that offers no system calls", "none"
    )
    mode: tuple[str, ...] = ()

    def open(self, setting: Setting) -> None:
        need_package("pydantic_monty")
        self.drive(str(venv.python()), "monty", *self.mode)


class MontyFresh(Monty):
    name, what, per_round = "monty-fresh", "Monty: workers used once", 12
    fresh = Freshness("never-used worker; not CPython", Monty.fresh.confined_by, "none")
    mode = ("fresh",)


class BelljarTool(Belljar):
    name, what, per_round = "belljar-tool", "belljar: a script calls a function of the host's", 300
    against = name

    def jobs(self, count: int, rest_s: float) -> Sample:
        """One script makes all calls, one after the other, and takes the time of each."""
        call = figure(bench(self.program, count), CALL)
        return Sample(call["count"], call["p50_us"] / 1000, call["p95_us"] / 1000)


class MontyTool(Monty):
    name, what, per_round = "monty-tool", "Monty: a script calls a function of the host's", 300
    against = BelljarTool.name
    mode = ("calls",)
    note = "the time from one call's arrival to the next one's, in one script"


class Docker(Command):
    """Knows its containers by a label, and leaves none, wherever it was interrupted."""

    docker: str | None = None

    def open(self, setting: Setting) -> None:
        self.docker, self.version = need_docker()
        self.label = f"belljar-bench={os.getpid()}-{self.name}"
        self.command = self.prepare([self.docker, "run", "--rm", "--network", "none", "--label", self.label])
        self.jobs(1, 0)

    def prepare(self, docker_run: list[str]) -> list[str]:
        """Makes what is held; the command of one job."""
        raise NotImplementedError

    def close(self) -> None:
        if not self.docker:
            return
        left = run([self.docker, "ps", "--all", "--quiet", "--filter", f"label={self.label}"]).split()
        if left:
            run([self.docker, "rm", "--force", *left])


class DockerRun(Docker):
    name, what, per_round = "docker-run", "docker run --rm", 5
    fresh = Freshness("new container, new CPython", "container; no network", IMPORTED_EACH_TIME)

    def prepare(self, docker_run: list[str]) -> list[str]:
        return [*docker_run, IMAGE, "python", "-c", SCRIPT]


class DockerExec(Docker):
    name, what, per_round = "docker-exec", "docker exec, container held", 8
    fresh = Freshness("new CPython in a used container", "container; no network", IMPORTED_EACH_TIME)

    def prepare(self, docker_run: list[str]) -> list[str]:
        # Gone by itself if nobody is left to remove it.
        held = run([*docker_run, "--detach", IMAGE, "sleep", "300"]).strip()
        return [self.docker, "exec", held, "python", "-c", SCRIPT]


class Jazzmine(Driver):
    name, what, per_round = "jazzmine", "jazzmine: checkout, run, return", 10
    fresh = Freshness(
        "used CPython in a used container, wiped", "container; on a bridge network", IMPORTED_AHEAD
    )

    def open(self, setting: Setting) -> None:
        need_docker()
        need_package("jazzmine")
        self.drive(str(venv.python()), "jazzmine_pool")


class BelljarDocker(Candidate):
    name, what, per_round = "belljar-docker", "belljar on docker: checkout, run, return", 30
    fresh = Freshness(
        "fork of a warmed CPython in a used container, emptied",
        "container without a network, seccomp twice",
        IMPORTED_AHEAD,
    )

    def open(self, setting: Setting) -> None:
        need_docker()
        self.program = need_belljar(setting)
        self.version = belljar_version(self.program)
        self.jobs(1, 0)

    def jobs(self, count: int, rest_s: float) -> Sample:
        """`belljar bench` rests 20 ms before each of these cycles by itself, and checks their results."""
        cycles = figure(bench(self.program, count, "--engine", "docker"), CYCLE)
        self.note = "from a container that is as good as new to one that is as good as new again; the caller waits for less"
        return Sample(cycles["count"], cycles["p50_us"] / 1000, cycles["p95_us"] / 1000)


ALL = (
    Belljar,
    BelljarRun,
    BelljarDocker,
    Python,
    Bubblewrap,
    ForkServer,
    Monty,
    MontyFresh,
    BelljarTool,
    MontyTool,
    DockerRun,
    DockerExec,
    Jazzmine,
)


def bench(program: str, count: int, *more: str) -> dict:
    """What `belljar bench` tells, with as little as it allows of what is not compared here."""
    printed = run(
        [program, "bench", "--json", "--count", str(count), "--seconds", "0.01", "--cells", "1", *more],
        BENCH_S,
    )
    try:
        told = json.loads(printed)
        return {key: told[key] for key in ("figures", "python", "python_path")}
    except (ValueError, KeyError) as error:
        raise Failure(f"belljar bench --json told something else: {error!r}") from None


def figure(told: dict, what: str) -> dict:
    found = next((one for one in told["figures"] if one["what"] == what), None)
    if found is None:
        raise Failure(f"belljar bench has no figure {what!r}")
    return found


def belljar_version(program: str) -> str:
    return run([program, "--version"]).split()[-1]
