"""`make bench-compare`: the same trivial job, in one run on one machine, against what a user would pick instead of Belljar.

    cli.py ──► rounds.py ──► candidates.py ──► command.py   belljar, python3, bwrap, docker: a process for each job
      │   who runs when           │    └─────► channel.py   ──► drivers/*.py: a library, in an interpreter of its own
      └──────► report.py          └──────────► presence.py  what is here, and what would bring the rest

Candidates take turns in rounds, so that noise hits all alike. Every job comes after the same rest, starts with nothing that an
earlier job left unless its row says so, and has to answer {"a": 1}; a candidate that answers anything else has failed.
Nothing is installed, except with --install, and then only pip packages in a virtual environment of its own.
"""
