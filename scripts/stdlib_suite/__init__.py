"""The parts of scripts/compatibility: which modules, how one runs, on which side, and the table of both.

cli ─► modules: what to run ─► sides: outside (a process), inside (a cell) ─► results file ─► report: the table
                                 └── both run guest.py, the same text
"""
