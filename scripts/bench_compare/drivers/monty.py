"""Pydantic's Monty: a session per job, in the pool's worker, or with the argument `fresh` in a worker that is used once.

With the argument `calls` one script calls a function of this process, and each job is such a call.
"""

import sys
import time

import pydantic_monty
from serving import serve, serve_times


def main():
    uses = 1 if "fresh" in sys.argv else None
    with pydantic_monty.Monty(max_checkouts_per_worker=uses) as pool:

        def job():
            with pool.checkout() as session:
                return session.feed_run("{'a': 1}")

        if "calls" in sys.argv:
            serve_times(pydantic_monty.__version__, lambda count, _: calls(pool, count))
        else:
            serve(pydantic_monty.__version__, job)


def calls(pool, count):
    """Milliseconds from one call's arrival here to the next one's: the answer's way, a turn of the loop, the call's way."""
    arrivals = []

    def echo(value):
        arrivals.append(time.perf_counter())
        return value

    with pool.checkout() as session:
        session.feed_run(f"for number in range({count + 1}): echo(number)", external_lookup={"echo": echo})
    return [(later - earlier) * 1000 for earlier, later in zip(arrivals, arrivals[1:])]
