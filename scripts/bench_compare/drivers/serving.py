"""The driver's end of `channel.py`: a line says how many jobs, a line back says how long each took."""

import json
import sys
import time

RESULT = {"a": 1}


def serve(version, job, tidy=lambda: None):
    """Runs `job` when asked, until the input ends. `tidy` comes after each job and is not counted."""

    def timed():
        begun = time.perf_counter()
        result = job()
        elapsed_ms = (time.perf_counter() - begun) * 1000
        if result != RESULT:
            raise SystemExit(f"wrong result: {result!r}")
        tidy()
        return elapsed_ms

    def several(count, rest_s):
        times = []
        for _ in range(count):
            time.sleep(rest_s)
            times.append(timed())
        return times

    serve_times(version, several)


def serve_times(version, several):
    """The same for jobs that are timed by `several(count, rest_s)`."""
    several(1, 0)  # the first is never counted: it pays for what is loaded once
    answer = {"version": version}
    while True:
        print(json.dumps(answer), flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        asked = json.loads(line)
        answer = {"times_ms": several(asked["count"], asked["rest_s"])}
