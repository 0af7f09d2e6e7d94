"""The daemons that make containers on a stock machine, and how each is started there."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import machine

IMAGE = "python:3.11-slim"
_SETTINGS = Path("/etc/docker/daemon.json")
_REMAP = '{"userns-remap": "default"}'
_OWN = ("systemd-run", "--user", "--quiet", "--property=Delegate=yes", "--collect")
_START = machine.PATIENCE * 6


@dataclass(frozen=True)
class Daemon:
    """One daemon: whose it is, where it listens, and what is done to have it."""

    name: str
    about: str
    socket: str
    # Commands that are run as its owner.
    begin: tuple[tuple[str, ...], ...]
    end: tuple[tuple[str, ...], ...]
    is_roots: bool = True
    # What is written to Docker's settings before.
    settings: str = "{}"
    # The protections that it does not give, of those that another does.
    lacks: tuple[str, ...] = ()
    # Whether a container may write to its own control group without being told.
    owns_groups: bool = False
    # The protection that its containers do without unless their profile is lifted.
    profile_hides: str = "user_namespace"

    def command(self, *program: str) -> list[str]:
        """The command that runs a program as who may use it, with this daemon."""
        variables = [f"DOCKER_HOST=unix://{self.socket}", "BELLJAR_ENGINE=docker"]
        if self.is_roots:
            return ["env", *variables, "HOME=/root", *program]
        return [*machine.AS_USER, *variables, "HOME=/home/u", *program]

    def start(self) -> None:
        _SETTINGS.parent.mkdir(exist_ok=True)
        _SETTINGS.write_text(self.settings)
        self._do(self.begin)
        deadline = time.monotonic() + _START
        # By its answer: the socket is there before.
        while subprocess.run(self.command("docker", "version"), capture_output=True).returncode != 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} does not answer")
            time.sleep(0.5)

    def stop(self) -> None:
        self._do(self.end)

    def _do(self, commands: tuple[tuple[str, ...], ...]) -> None:
        for command in commands:
            subprocess.run(self.command(*command), check=True)

    def import_image(self, tar: str) -> None:
        changes = (
            "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
            "ENV LANG=C.UTF-8",
            'CMD ["python3"]',
        )
        flags = [word for change in changes for word in ("--change", change)]
        self.run("import", *flags, tar, IMAGE)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of Docker's own client."""
        command = self.command("docker", *arguments)
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)


_STOP_DOCKER = (("systemctl", "stop", "docker.service", "docker.socket"),)
_DOCKER = "/run/docker.sock"
DAEMONS = (
    Daemon(
        "docker",
        "Docker, root's",
        _DOCKER,
        (("systemctl", "start", "docker.service"),),
        _STOP_DOCKER,
        lacks=("user_namespace",),
    ),
    Daemon(
        "remapped",
        "the same with userns-remap",
        _DOCKER,
        (("systemctl", "start", "docker.service"),),
        _STOP_DOCKER,
        settings=_REMAP,
        owns_groups=True,
    ),
    Daemon(
        "rootless",
        "Docker of an ordinary user",
        "/run/user/1000/docker.sock",
        ((*_OWN, "--unit=rootless", "/usr/share/docker.io/contrib/dockerd-rootless.sh"),),
        (("systemctl", "--user", "stop", "rootless.service"),),
        is_roots=False,
    ),
    Daemon(
        "podman",
        "Podman of an ordinary user",
        "/run/user/1000/podman/podman.sock",
        (("systemctl", "--user", "start", "podman.socket"),),
        (("systemctl", "--user", "stop", "podman.socket", "podman.service"),),
        is_roots=False,
        owns_groups=True,
        profile_hides="private_root",
    ),
)
