"""What becomes of a run when the kernel says no.

Each system call that the program, its helper, its zygote and its cells make during one run fails, with each error that a
machine at its limits gives, at several places: by strace's own fault injection. However that ends, it must be with an
answer: a result, or an error with its reason and exit code 3. Never a panic, never a hang, nothing left behind, and the
next run works.

    faults.py   which calls fail, how, and where
    trial.py    one run under strace, in a group of its own, and what is left of it
    cli.py      all of them, and the report
"""
