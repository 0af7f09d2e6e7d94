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

    timed()  # the first is never counted: it pays for what is loaded once
    answer = {"version": version}
    while True:
        print(json.dumps(answer), flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        asked = json.loads(line)
        times = []
        for _ in range(asked["count"]):
            time.sleep(asked["rest_s"])
            times.append(timed())
        answer = {"times_ms": times}
