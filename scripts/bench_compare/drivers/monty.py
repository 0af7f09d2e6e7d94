"""Pydantic's Monty: a session per job, in the pool's worker, or with the argument `fresh` in a worker that is used once."""

import sys

import pydantic_monty
from serving import serve


def main():
    uses = 1 if "fresh" in sys.argv else None
    with pydantic_monty.Monty(max_checkouts_per_worker=uses) as pool:

        def job():
            with pool.checkout() as session:
                return session.feed_run("{'a': 1}")

        serve(pydantic_monty.__version__, job)
