"""The image, and containers of it. Everything that is made has a label, and is removed by it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import guide
from .client import PATIENCE, Client, Failed, expect, wait_until

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide/server.md"
SOURCES = ROOT / "deploy/docker"
# Whoever else uses the daemon has other labels.
LABEL = f"belljar.test-deploy={os.getpid()}"
TAG = f"belljar-test-deploy:{os.getpid()}"
PORT = "8720/tcp"


def docker(*arguments: str, may_fail: bool = False) -> str:
    """What a command of Docker's client prints."""
    ran = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=600, cwd=ROOT)
    if ran.returncode and not may_fail:
        raise Failed(f"docker {arguments[0]} exits with {ran.returncode}: {ran.stderr.strip()[-500:]}")
    return ran.stdout.strip()


def granted(title: str) -> list[str]:
    """The options of the guide's command under this title."""
    return guide.granted(GUIDE.read_text(), title, group_of_socket())


def group_of_socket() -> str:
    try:
        return str(os.stat("/var/run/docker.sock").st_gid)
    except OSError as error:
        raise Failed(f"the daemon must be on this machine: {error}") from error


class Container:
    """A server in a container, on a port and with a volume of its own."""

    def __init__(self, options: list[str], arguments: list[str]):
        labels = ["--label", LABEL, "--publish", f"127.0.0.1::{PORT}"]
        self.id = docker("run", "--detach", *labels, *options, TAG, *arguments)
        self.speaks_tls = "--tls-cert" in arguments

    def client(self) -> Client:
        """A client with the first token, once the server takes requests."""
        wait_until("a published port", self._port)
        client = Client(self._port(), self.speaks_tls)
        wait_until(f"a server that is ready: {self.log()[-600:]}", client.is_ready)
        client.token = docker("exec", self.id, "cat", "/var/lib/belljar/token")
        return client

    def _port(self) -> int:
        expect(self.state("Running") == "true", "a container that runs", self.log()[-600:])
        said = docker("port", self.id, PORT, may_fail=True).splitlines()
        return int(said[0].rpartition(":")[2]) if said else 0

    def signal(self, name: str) -> None:
        docker("kill", "--signal", name, self.id)

    def state(self, field: str) -> str:
        return docker("inspect", "--format", f"{{{{.State.{field}}}}}", self.id)

    def exit_code(self, patience: float = PATIENCE) -> int:
        """Waits for its end."""
        wait_until("the end of the container", lambda: self.state("Running") == "false", patience)
        return int(self.state("ExitCode"))

    def log(self) -> str:
        both = subprocess.run(["docker", "logs", self.id], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return both.stdout.decode(errors="replace").strip()


class Image:
    """The image that is tested."""

    def make(self, program: Path) -> None:
        with tempfile.TemporaryDirectory() as context:
            shutil.copytree(SOURCES, context, dirs_exist_ok=True)
            # Two thirds of it are for debuggers.
            subprocess.run(["strip", "-o", f"{context}/belljar", str(program)], check=True)
            docker("build", "--quiet", "--label", LABEL, "--tag", TAG, context)

    def start(self, options: list[str], *arguments: str) -> Container:
        return Container(options, list(arguments))

    def volume(self) -> str:
        return docker("volume", "create", "--label", LABEL)

    def remove_containers(self) -> None:
        for each in self._made("ps", "--all"):
            docker("rm", "--force", "--volumes", each)

    def remove(self) -> list[str]:
        """Removes all that was made. Returns what is still there."""
        self.remove_containers()
        for each in self._made("volume", "ls"):
            docker("volume", "rm", each, may_fail=True)
        for each in self._made("images"):
            docker("rmi", "--force", each, may_fail=True)
        return [*self._made("ps", "--all"), *self._made("volume", "ls"), *self._made("images")]

    def _made(self, *listing: str) -> list[str]:
        return docker(*listing, "--quiet", "--filter", f"label={LABEL}").split()
