"""How a container ends, and what the next one of the same volume knows."""

from __future__ import annotations

import re
import shlex
import time

from .client import Client, expect, wait_until
from .image import GUIDE, LABEL, TAG, Container, Image, docker, granted

# Says `go`, and goes on until somebody has had the time to end the server.
GOES_ON = "import time\nprint('go', flush=True)\ntime.sleep(4)\nemit_result('done')"
GOES_ON_FOREVER = "import time\nprint('go', flush=True)\ntime.sleep(3600)"
# As `docker stop` with the guide's --stop-timeout would wait.
DEADLINE = 45.0


def begun(client: Client, script: str):
    """A run that goes on: its events after the first, which says so."""
    events = client.begin(script)
    first = next(events)
    expect(first.get("type") == "stdout", "a run that prints", first)
    return events


def ended(container: Container, signal: str) -> int:
    container.signal(signal)
    return container.exit_code(DEADLINE)


def on_sigterm_what_runs_may_end_and_nothing_new_begins(image: Image) -> None:
    container = image.start(granted("The least"))
    client = container.client()
    events = begun(client, GOES_ON)
    begin = time.monotonic()
    container.signal("TERM")
    while (refused := client.run("emit_result(1)")).get("code") != "draining":
        expect(refused.get("verdict") == "ok", "503 draining", refused)
    expect(not client.is_ready(), "a server that is not ready any more", "one that is")
    *_, last = events
    expect(
        (last["type"], last.get("verdict"), last.get("final_data")) == ("ended", "ok", "done"), "done", last
    )
    code = container.exit_code(DEADLINE)
    took = time.monotonic() - begin
    expect(code == 0 and took < DEADLINE, f"exit code 0 within {DEADLINE:.0f} s", (code, took))


def a_stop_while_it_starts_is_heard(image: Image) -> None:
    container = image.start(granted("The least"))
    code = ended(container, "TERM")
    expect(code in (0, 128 + 15), "exit code 0 or 143", code)


def what_does_not_end_in_time_is_cancelled(image: Image) -> None:
    volume = ["--volume", f"{image.volume()}:/var/lib/belljar"]
    container = image.start([*granted("The least"), *volume], "--drain", "1s")
    events = begun(container.client(), GOES_ON_FOREVER)
    begin = time.monotonic()
    container.signal("TERM")
    *_, last = events
    expect((last["type"], last.get("verdict")) == ("ended", "cancelled"), "cancelled", last)
    code, took = container.exit_code(), time.monotonic() - begin
    expect(code == 0 and took < 12, "exit code 0 within 12 s", (code, took))
    kept = image.start([*granted("The least"), *volume]).client().get("/v1/runs")["runs"]
    expect([run["verdict"] for run in kept] == ["cancelled"], "that run in the history", kept)


def after_a_kill_the_history_says_so_and_tokens_stay(image: Image) -> None:
    volume = ["--volume", f"{image.volume()}:/var/lib/belljar"]
    container = image.start([*granted("The least"), *volume])
    client = container.client()
    events = begun(client, GOES_ON_FOREVER)
    code = ended(container, "KILL")
    expect(code == 137, "exit code 137", code)
    del events
    again = image.start([*granted("The least"), *volume]).client()
    expect(again.token == client.token, "the same token", "another")
    kept = again.get("/v1/runs")["runs"]
    expect([run["verdict"] for run in kept] == ["infra"], "the run, with the verdict infra", kept)
    expect(again.run("emit_result(2)").get("final_data") == 2, "a server that works", "one that does not")


def a_backup_is_a_history_of_its_own(image: Image) -> None:
    told = re.search(r"^docker exec belljar (python3 -c '.*')$", GUIDE.read_text(), re.MULTILINE)
    expect(told is not None, "a command for it", "none in the guide")
    first, second = image.volume(), image.volume()
    container = image.start([*granted("The least"), "--volume", f"{first}:/var/lib/belljar"])
    client = container.client()
    run = client.run("emit_result('kept')")["execution_id"]
    wait_until("the run in the history", lambda: client.get("/v1/runs")["runs"][0]["verdict"] == "ok")
    docker("exec", container.id, *shlex.split(told[1]))
    move = "cp /from/copy.db /var/lib/belljar/history.db"
    volumes = ["--volume", f"{first}:/from:ro", "--volume", f"{second}:/var/lib/belljar"]
    docker("run", "--rm", "--label", LABEL, *volumes, "--entrypoint", "sh", TAG, "-c", move)
    restored = image.start([*granted("The least"), "--volume", f"{second}:/var/lib/belljar"]).client()
    kept = restored.get(f"/v1/runs/{run}")
    expect("emit_result('kept')" in str(kept), "the run and its script", kept)


ENDINGS = (
    on_sigterm_what_runs_may_end_and_nothing_new_begins,
    a_stop_while_it_starts_is_heard,
    what_does_not_end_in_time_is_cancelled,
    after_a_kill_the_history_says_so_and_tokens_stay,
    a_backup_is_a_history_of_its_own,
)
