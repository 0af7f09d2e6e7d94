"""The short form's checks: what must be true of Belljar, whoever starts it. One line for each claim.

python3 checks.py                           in the machine, as root: starts itself as everybody
python3 checks.py --inside IDENTITY PART…   these claims, as whoever has started this
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import claims
import looks
import machine
from claims import Line


def without_home() -> Line:
    hidden = ("HOME", "XDG_CACHE_HOME", "BELLJAR_CACHE")
    return claims.NO_HOME.look({name: value for name, value in os.environ.items() if name not in hidden})


victim = looks.Victim()

# What is looked at together: two at a time, as the machine has two processors.
PARTS: dict[str, tuple[Callable[[], Line | list[Line]], ...]] = {
    "all": (victim.start, looks.doctor, without_home, *(claim.look for claim in claims.CLAIMS)),
    "killed": (victim.kill,),
    "swap": (claims.SWAP.look,),
    "types": (looks.types_of_groups,),
}


def inside(identity: str, parts: list[str]) -> int:
    """Prints a line for each claim of these parts. Exits with 1 if one does not hold."""
    failed = False
    for part in parts:
        with ThreadPoolExecutor(2) as pool:
            for job in [pool.submit(look) for look in PARTS[part]]:
                result = job.result()
                for line in result if isinstance(result, list) else [result]:
                    failed |= not line.holds
                    print(f"{identity:<14} {line}", flush=True)
    return int(failed)


def everybody() -> int:
    """Starts this program as each identity, and looks at what is left."""
    failed = visit([machine.ROOT_SERVICE], "all", "killed")
    swap = "fallocate -l 256M /swap && chmod 600 /swap && mkswap /swap >/dev/null && swapon /swap"
    subprocess.run(["sh", "-c", swap], check=True)
    # From here on there is swap, which must help nobody over a limit.
    failed |= visit([machine.ROOT_LIMITED], "all", "killed", "swap")
    failed |= limited_by_the_unit(machine.ROOT_LIMITED)
    failed |= visit([machine.USER_LOGIN], "all", "killed", "swap")
    failed |= visit([machine.USER_DELEGATED], "all", "killed")
    failed |= visit([machine.ROOT_UNCOUNTED, machine.USER_UNCOUNTED], "types")
    return int(failed)


def visit(identities: list[machine.Identity], *parts: str) -> bool:
    """Looks at these claims as these identities, at the same time. Whether something failed."""
    for who in identities:
        # Once before it counts: sessions and buses start what they need, and keep it.
        subprocess.run(who.command("true"), check=True)
    begun, before = time.monotonic(), machine.Census.taken()
    commands = [
        who.command(sys.executable, "-B", __file__, "--inside", who.name, *parts) for who in identities
    ]
    running = [subprocess.Popen(command) for command in commands]
    codes = [each.wait() for each in running]
    left = before.left_over()
    seen = f"{left or 'nothing'} more than {before.counts()}"
    print(f"{'afterwards':<14} {Line('what is left', not left, 'nothing', seen)}", flush=True)
    print(
        f"{'afterwards':<14} {', '.join(w.name for w in identities)}: {time.monotonic() - begun:.0f} s",
        flush=True,
    )
    return any(codes) or bool(left)


def limited_by_the_unit(who: machine.Identity) -> bool:
    """Whether it failed. Belljar is all there is in the unit, whose memory it takes."""
    line = claims.UNIT_LIMIT.look(start=who.start)
    print(f"{who.name:<14} {line}", flush=True)
    return not line.holds


if __name__ == "__main__":
    sys.exit(inside(sys.argv[2], sys.argv[3:]) if sys.argv[1:2] == ["--inside"] else everybody())
