"""`make bench-compare`: the same trivial job, in one run on one machine, against what a user would pick instead of Belljar.

    cli.py ──► candidates.py ──► belljar, python3, bwrap, docker          (a process for each job)
      │             └──────────► channel.py ──► drivers/*.py              (a library, in an interpreter of its own)
      ├──────► rounds.py     who runs when, and for how long
      └──────► report.py     the figures, for people and for machines

Candidates take turns in rounds, so that noise hits all alike. Every job comes after the same rest, starts with nothing that an
earlier job left unless its row says so, and has to answer {"a": 1}; a candidate that answers anything else is no figure but a failure.
Nothing is installed, except with --install, and then only pip packages in a virtual environment of its own.
"""
