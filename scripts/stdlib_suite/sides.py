"""How one module runs on either side."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

PYTHON = "/usr/bin/python3.11"
GUEST = pathlib.Path(__file__).with_name("guest.py").read_text()
SANDBOX = """
name = "compatibility"
python_version = "3.11"
scratch_size_mb = 256
pool_size = 0

[resource_limits]
cpu_quota = 2.0
memory_mb = 1024
pids_limit = 256
execution_timeout_sec = {timeout}
max_output_bytes = 67108864
"""


class Sides:
    """Both sides of the comparison; a directory of its own for what they need."""

    def __init__(self, belljar, timeout):
        self.timeout = timeout
        self._belljar = belljar
        self._home = pathlib.Path(tempfile.mkdtemp(prefix="belljar-compatibility-"))
        self._home.chmod(0o755)
        self._sandbox = self._home / "sandbox.toml"
        self._sandbox.write_text(SANDBOX.format(timeout=float(timeout)))

    def close(self):
        shutil.rmtree(self._home, ignore_errors=True)

    def outside(self, module):
        """As an ordinary user, in an empty directory that is also its home and its place for temporary files."""
        place = pathlib.Path(tempfile.mkdtemp(dir=self._home))
        command, name = [PYTHON, "-c", _script(module)], os.environ.get("USER", "user")
        if os.geteuid() == 0:
            shutil.chown(place, "nobody")
            command, name = (
                ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command],
                "nobody",
            )
        variables = {
            "PATH": "/usr/bin:/bin",
            "HOME": place,
            "TMPDIR": place,
            "LANG": "C.UTF-8",
            "USER": name,
            "LOGNAME": name,
        }
        said, code = _finish(
            command, self.timeout, cwd=place, env={**variables, "PYTHONDONTWRITEBYTECODE": "1"}
        )
        shutil.rmtree(place, ignore_errors=True)
        for line in said.splitlines():
            if line.startswith("[summary] "):
                return json.loads(line.removeprefix("[summary] "))
        return _broken("timeout" if code is None else f"exit {code}", said)

    def inside(self, module):
        """As the script of one fresh cell."""
        command = [self._belljar, "run", "--json", "--sandbox", self._sandbox, "-"]
        # The same CPython as outside, whatever else this machine has.
        environment = {**os.environ, "BELLJAR_PYTHON": PYTHON}
        # Belljar keeps the module's time itself; the rest is for making the cell.
        said, code = _finish(command, self.timeout + 60, env=environment, stdin=_script(module))
        try:
            result = json.loads(said)
        except ValueError:
            return _broken(f"belljar {code}", said)
        if result["final_data"] is not None:
            return result["final_data"]
        error = result.get("error") or ""
        return _broken(
            f"{result['verdict']} {error}"[:200].strip(),
            result["stdout"],
            (result.get("traceback") or "")[-2000:],
        )


def _script(module):
    return f"MODULE = {module!r}\n{GUEST}"


def _broken(how, said, trace=""):
    """A run without a summary: how it ended, and which test was on."""
    started = re.findall(r"^\[starts\] (.*)$", said, re.MULTILINE)
    return {
        "ran": len(started),
        "failed": {},
        "skipped": {},
        "ended": how,
        "during": started[-1] if started else "",
        "trace": trace,
    }


def _finish(command, timeout, stdin="", **options):
    """What a command said and its exit code, `None` when its time was up. Nothing that it started outlives it."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile("w+") as given:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            command, stdin=given, stdout=said, stderr=subprocess.DEVNULL, start_new_session=True, **options
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        said.seek(0)
        return said.read().decode(errors="replace"), code
