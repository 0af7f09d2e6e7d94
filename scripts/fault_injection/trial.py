"""One run under strace, in a group of its own, and what is left of it."""

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE = 60.0
CONTROLLERS = ("memory", "cpu", "cpuacct", "pids")
SCRIPT = "import subprocess\nprint('said')\nemit_intermediate('half', 1)\nemit_result(subprocess.run(['/bin/true']).returncode)\n"

#: What the program may end with: a result of any kind, or an error of ours.
CODES = {0, 1, 3, 124, 137}

#: Ends that are not ours to prevent: of the loader, of Rust's own start, and of tokio where its own
#: pipe fails.
BEYOND_US = (
    "error while loading shared libraries",
    "failed to allocate an alternative stack",
    "failed to wake I/O driver",
    "tokio-1",
    "memory allocation of",
)


class Group:
    """A control group in each tree, in which everything that a run makes must be found."""

    def __init__(self, name):
        self._places = [Path("/sys/fs/cgroup") / controller / name for controller in CONTROLLERS]
        self._places = [place for place in self._places if place.parent.is_dir()]

    def __enter__(self):
        for place in self._places:
            place.mkdir(exist_ok=True)
        return self

    def __exit__(self, *_):
        for place in self._places:
            for below in sorted(place.rglob("*/"), reverse=True):
                below.rmdir()
            place.rmdir()

    def join(self):
        for place in self._places:
            (place / "tasks").write_text("0")

    def processes(self):
        found = set()
        for place in self._places:
            for tasks in place.rglob("cgroup.procs"):
                try:
                    found.update(int(pid) for pid in tasks.read_text().split())
                except OSError:
                    pass
        return found

    def groups_below(self):
        return [str(below) for place in self._places for below in place.glob("*/")]


class Trial:
    """What came of one run."""

    def __init__(self, fault, complaints, code, stderr):
        self.fault, self.complaints, self.code, self.stderr = fault, complaints, code, stderr


def run(command, fault, group):
    """Runs the program once with a fault, and once without; what there is to complain about."""
    with tempfile.TemporaryDirectory() as scratch:
        code, stdout, stderr = _finish(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={fault}", *command], scratch, group
        )
        complaints = []
        beyond_us = any(words in stderr for words in BEYOND_US)
        if code is None:
            complaints.append("it hangs")
        elif code not in CODES and not beyond_us:
            complaints.append(f"exit code {code}")
        panic = re.search(r"internal error.*|panicked at.*", stderr)
        if panic and not beyond_us:
            complaints.append("it panics: " + panic.group(0))
        # Unless it was the reason itself that could not be written.
        if code == 3 and "error:" not in stderr and not stdout.strip() and not fault.startswith("write:"):
            complaints.append("exit code 3 without a reason")
        left = _left_after_a_while(group)
        if left:
            complaints.append(f"processes are left: {left}")
        again, said, errors = _finish(command, scratch, group)
        if again != 0 or "0" not in said:
            complaints.append(f"the next run fails: {again} {errors.strip()[-200:]}")
        if _left_after_a_while(group) or group.groups_below():
            complaints.append(f"left after the next run: {group.processes()} {group.groups_below()}")
        files = os.listdir(scratch)
        if files:
            complaints.append(f"files are left: {files[:5]}")
        return Trial(fault, complaints, code, stderr)


def _finish(command, scratch, group):
    environment = {**os.environ, "TMPDIR": scratch, "RUST_BACKTRACE": "0"}
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=group.join,
        start_new_session=True,
    )
    try:
        stdout, stderr = child.communicate(SCRIPT, timeout=PATIENCE)
        return child.returncode, stdout, stderr
    except subprocess.TimeoutExpired:
        for pid in group.processes():
            os.kill(pid, signal.SIGKILL)
        stdout, stderr = child.communicate()
        return None, stdout, stderr


def _left_after_a_while(group):
    deadline = time.monotonic() + 10
    while group.processes() and time.monotonic() < deadline:
        time.sleep(0.005)
    left = group.processes()
    names = {pid: _name(pid) for pid in left}
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return names


def _name(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"
