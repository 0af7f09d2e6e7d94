"""What a container is granted, what then is active in it, and what is refused otherwise."""

from __future__ import annotations

import json

from .client import expect, wait_until
from .image import TAG, Image, docker, granted

LIMITS = {"cgroup_memory", "cgroup_cpu", "cgroup_pids"}
HOLDS_180_MB = "held = bytearray(b'x') * (180 << 20)"
UNDER_64_MB = ("--memory", "64m")


def the_image_is_as_it_should_be(image: Image) -> None:
    config = json.loads(docker("inspect", TAG))[0]["Config"]
    expect(config["User"] == "belljar", "an ordinary user", config["User"])
    expect(config["Entrypoint"][:2] == ["/usr/bin/belljar", "serve"], "no shell", config["Entrypoint"])
    expect(config.get("StopSignal") == "SIGTERM", "SIGTERM", config.get("StopSignal"))
    expect(list(config["Volumes"]) == ["/var/lib/belljar"], "a volume for the state", config["Volumes"])


def without_a_grant_the_server_refuses_and_says_what_to_grant(image: Image) -> None:
    container = image.start([])
    code, said = container.exit_code(), container.log()
    expect(code == 3, "exit code 3", code)
    for text in ("no cell can be made", "user_namespace is missing", "--security-opt seccomp=unconfined"):
        expect(text in said, repr(text), said)


def a_covered_proc_is_refused_too(image: Image) -> None:
    options = granted("The least")
    at = options.index("systempaths=unconfined")
    container = image.start(options[: at - 1] + options[at + 1 :])
    code, said = container.exit_code(), container.log()
    expect(code == 3 and "private_root is missing" in said, "exit code 3, no private root", (code, said))


def the_least_grants_make_cells_without_any_right(image: Image) -> None:
    container = image.start([*granted("The least"), "--health-interval", "1s"])
    client = container.client()
    ran = client.run("import os\nemit_result([6 * 7, os.getuid()])")
    expect(ran.get("final_data") == [42, 1000], "[42, 1000]", ran)
    expect("limits are weaker here" in str(ran["warnings"]), "a warning about limits", ran["warnings"])
    expect(client.inactive() == LIMITS, f"all but {LIMITS}", client.inactive())
    kernel = docker("exec", container.id, "cat", "/proc/1/status")
    rights = dict(line.split(":\t", 1) for line in kernel.splitlines() if ":\t" in line)
    seen = {name: rights[name] for name in ("Uid", "CapBnd", "NoNewPrivs")}
    wanted = {"Uid": "\t".join(["8720"] * 4), "CapBnd": "0" * 16, "NoNewPrivs": "1"}
    expect(seen == wanted, str(wanted), seen)
    wait_until("a healthy container", lambda: container.state("Health.Status") == "healthy")


def programs_run_in_workspaces_with_the_least_grants(image: Image) -> None:
    client = image.start(granted("The least")).client()
    made = client.post("/v1/workspaces", {"name": "job"})
    path = f"/v1/workspaces/{made['id']}/programs"
    ran = client.post(path, {"command": "sh", "args": ["-c", "echo kept >a; cat a"]})
    expect(ran.get("stdout") == "kept\n", "a program's output", ran)


def nobody_is_let_in_without_a_token(image: Image) -> None:
    client = image.start(granted("The least")).client()
    client.token = ""
    refused = client.ask("POST", "/v1/runs", {"script": "emit_result(1)"}).status
    expect(refused == 401, "401", refused)
    container = image.start(granted("The least"), "--no-token")
    code, said = container.exit_code(), container.log()
    expect(code != 0 and "clients need a token" in said, "a server that does not start", (code, said))


def with_every_grant_all_limits_hold(image: Image) -> None:
    options = granted("All limits")
    container = image.start([*options, "--volume", f"{image.volume()}:/var/lib/belljar:nocopy"], *UNDER_64_MB)
    client = container.client()
    expect(client.inactive() == set(), "every protection", client.inactive())
    ran = client.run(HOLDS_180_MB)
    expect(ran.get("verdict") == "oom", "180 MB under 64 to be oom", ran)
    ran = client.run("emit_result(6 * 7)")
    expect((ran.get("final_data"), ran.get("warnings")) == (42, []), "42, no warning", ran)
    rows = docker("top", container.id, "-eo", "pid,uid,comm").splitlines()[1:]
    cells = [row.split()[1] for row in rows if row.split()[2] == "belljar-init"]
    expect(bool(cells) and "0" not in cells, "cells that are not root on the host", rows)


def with_the_socket_cells_are_containers_beside_it(image: Image) -> None:
    # A name of its own, so that its images are nobody else's.
    name = TAG.replace(":", "-")
    before = docker("images", "--quiet", f"belljar/{name}")
    expect(not before, "a name that is not taken", before)
    setup = f"printf 'name = \"{name}\"\\n' >/tmp/own.toml; exec belljar serve --listen 0.0.0.0:8720"
    options = granted("Docker's socket")
    entry = ["--tmpfs", "/tmp", "--entrypoint", "sh"]
    words = "--engine docker --warm 1 --sandbox /tmp/own.toml"
    container = image.start([*options, *entry], "-c", f"{setup} {words}")
    try:
        client = container.client()
        ran = client.run("emit_result(6 * 7)")
        expect(ran.get("final_data") == 42 and bool(ran.get("place")), "42, from a container", ran)
        docker("inspect", ran["place"])
        expect(client.inactive() == {"user_namespace", "landlock"}, "two less", client.inactive())
        container.signal("TERM")
        code = container.exit_code()
        expect(code == 0, "exit code 0", code)
        left = docker("ps", "--all", "--quiet", "--filter", f"label=dev.belljar.config={name}")
        expect(not left, "no container that is left", left)
    finally:
        # By its name: what somebody else built of the same files has the same id.
        for each in docker("images", "--format", "{{.Repository}}:{{.Tag}}", f"belljar/{name}").split():
            docker("rmi", each, may_fail=True)


GRANTS = (
    the_image_is_as_it_should_be,
    without_a_grant_the_server_refuses_and_says_what_to_grant,
    a_covered_proc_is_refused_too,
    the_least_grants_make_cells_without_any_right,
    programs_run_in_workspaces_with_the_least_grants,
    nobody_is_let_in_without_a_token,
    with_every_grant_all_limits_hold,
    with_the_socket_cells_are_containers_beside_it,
)
