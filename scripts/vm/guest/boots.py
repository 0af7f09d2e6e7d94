"""Faults that a kernel is booted with, and its parameters once the advice was followed.

python3 boots.py    prints the parameters with the faults, then without
"""

from __future__ import annotations

from advice import Remedy, table

# The second is Debian's own list without Landlock.
FAULTY = "cgroup_disable=memory lsm=lockdown,yama,apparmor,tomoyo,bpf"
# Which row each of them spoils.
ROWS = {"boot_controller": "cgroup_memory", "landlock": "landlock"}


def repaired(remedies: dict[str, Remedy]) -> str:
    """The same parameters, changed as the two remedies say."""
    unwanted = remedies["boot_controller"].quoted()[0]
    module, parameter = remedies["landlock"].quoted()
    kept = [each for each in FAULTY.split() if not each.startswith(unwanted)]
    return " ".join(f"{each},{module}" if each.startswith(parameter) else each for each in kept)


if __name__ == "__main__":
    print(FAULTY)
    print(repaired({remedy.name: remedy for remedy in table()}))
