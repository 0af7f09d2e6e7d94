"""Native cells inside a container: what doctor says there, before and after its advice is followed.

`guide.py` is that of scripts/deploy_suite, and `/job/server.md` the guide, which scripts/test-vm brings
along.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import advice
from claims import BELLJAR, HANG, Line
from daemons import IMAGE, Daemon
from doctor import Report, judged
from guide import granted


def look(daemon: Daemon) -> bool:
    """Prints a line for each claim. Whether one does not hold."""
    failed = False
    for line in lines(daemon):
        failed |= not line.holds
        print(f"{daemon.name:<14} {line}", flush=True)
    return failed


def lines(daemon: Daemon) -> Iterable[Line]:
    texts = {remedy.name: remedy.text for remedy in advice.table()}
    profile, groups = texts["container_profile"], texts["container_groups"]
    unconfined = security_options(profile, daemon)
    writable = re.search(r"--cgroupns=host .*?(?=, or --privileged)", groups)
    assert writable, groups
    yield judged("inside, no option: advice", doctor(daemon), daemon.profile_hides, profile)
    seen = doctor(daemon, *unconfined)
    yield judged("inside, profile: followed", seen, daemon.profile_hides, None)
    if daemon.owns_groups:
        # Nothing more is to be had, nor needed.
        yield judged("inside, groups", seen, "cgroup_memory", None)
        return
    yield judged("inside, groups: advice", seen, "cgroup_memory", groups)
    seen = doctor(daemon, *unconfined, *writable[0].split())
    yield judged("inside, groups: followed", seen, "cgroup_memory", None)
    seen = doctor(daemon, "--privileged")
    yield judged("inside, privileged", seen, "cgroup_memory", None)
    if daemon.is_roots:
        yield from servers(daemon)


def servers(daemon: Daemon) -> Iterable[Line]:
    """What the guide grants a server in a container."""
    text = Path("/job/server.md").read_text().replace("deploy/docker/seccomp.json", "/job/seccomp.json")
    least = [*granted(text, "The least"), "--user", "8720:8720"]
    yield judged("inside, a server, the least", doctor(daemon, *least), "private_root", None)
    confined = [word for word in least if word != "apparmor=unconfined"]
    confined.pop(confined.index("seccomp=/job/seccomp.json") + 1)
    seen = doctor(daemon, *confined)
    yield Line("inside, a server, AppArmor", not seen.is_fit, "no cell", str(seen.faults()))
    seen = doctor(daemon, *granted(text, "All limits"))
    lacking = [name for name in seen.faults() if name != "cache"]
    holds = seen.is_fit and not lacking
    yield Line("inside, a server, all limits", holds, "every protection", f"{lacking} {seen.said}")


def security_options(text: str, daemon: Daemon) -> list[str]:
    """Those that the advice names; of the last two, Podman has the latter."""
    named = re.findall(r"--security-opt (\S+?)[,)]?(?= |$)", text)
    *common, dockers, podmans = named
    chosen = [*common, podmans if daemon.name == "podman" else dockers]
    return [word for each in chosen for word in ("--security-opt", each)]


def doctor(daemon: Daemon, *options: str) -> Report:
    """What doctor says in a container with these options."""
    run = ["docker", "run", "--rm", "--network=none", f"--volume={BELLJAR}:/belljar:ro", *options]
    command = daemon.command(*run, IMAGE, "/belljar", "doctor", "--json")
    ran = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
    return Report.parsed(ran.stdout, ran.stderr)
