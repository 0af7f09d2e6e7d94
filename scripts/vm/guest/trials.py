"""The trials of each remedy: a fault, where doctor is asked, and what is done about it.

What is done comes from the text of the remedy wherever that says it between backticks. `stage.py` has
the places and the tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import machine
import stage
from advice import Remedy
from claims import BELLJAR
from doctor import COMMAND, Report
from stage import NEWCOMER, Service, Unmanaged, shell

USER_UNITS = Path("/etc/systemd/system/user@.service")
USER_UID = "1000"
USER = "User=u"
UNREACHABLE = "InaccessiblePaths=/run/systemd/private /run/dbus"
CLONE, ALLOWED = "kernel.unprivileged_userns_clone", "user.max_user_namespaces"
# What they are set back to when a trial is over.
USUAL = {CLONE: "1", ALLOWED: "15000"}


@dataclass(frozen=True)
class Trial:
    """One fault, and what must come of following the advice about it."""

    about: str
    row: str
    fault: Callable[[], object]
    look: Callable[[], Report]
    follow: Callable[[Remedy], object]
    undo: Callable[[], object]


@dataclass(frozen=True)
class Elsewhere:
    """A remedy, or a part of one, that cannot be tried on this machine."""

    reason: str


def in_service(about: str, row: str, *settings: str) -> Trial:
    """A unit with settings that the advice has its operator remove."""
    service = Service(*settings)
    return Trial(about, row, service.install, service.look, service.drop_settings, service.uninstall)


def not_delegated(about: str, *settings: str) -> Trial:
    service = Service(*settings)
    return Trial(about, "cgroup_memory", service.install, service.look, service.edit, service.uninstall)


def without_linger(about: str, *start: str) -> Trial:
    """A user of whom systemd knows nothing."""

    def follow(remedy: Remedy) -> None:
        shell(remedy.quoted(USER=NEWCOMER)[0])
        stage.wait_for_manager(NEWCOMER)

    return Trial(
        about,
        "cgroup_memory",
        lambda: shell(f"loginctl disable-linger {NEWCOMER}"),
        lambda: Report.of(*start, "runuser", "-u", NEWCOMER, "--", *COMMAND),
        follow,
        lambda: stage.end_manager(NEWCOMER),
    )


def few_controllers(about: str, who: machine.Identity) -> Trial:
    """A user's manager that was given what systemd gave one before version 252."""
    dropins = Path(f"{USER_UNITS}.d")

    def restart() -> None:
        shell("systemctl daemon-reload", f"systemctl restart user@{USER_UID}.service")

    def fault() -> None:
        stock = Path("/lib/systemd/system", USER_UNITS.name).read_text()
        USER_UNITS.write_text(re.sub("(?m)^Delegate=.*", "Delegate=pids memory", stock))
        restart()

    def follow(remedy: Remedy) -> None:
        section, setting, *commands = remedy.quoted(UID=USER_UID)
        file = Path(re.search(r"/etc/\S+\.conf", remedy.text)[0])
        file.parent.mkdir()
        file.write_text(f"{section}\n{setting}\n")
        shell(*commands)

    def undo() -> None:
        USER_UNITS.unlink()
        stage.remove_tree(dropins)
        restart()

    return Trial(about, "cgroup_cpu", fault, lambda: Report.of(*who.command(*COMMAND)), follow, undo)


def sysctl(setting: str, value: str, who: machine.Identity) -> Trial:
    """A switch of the kernel's, which the advice has root set back."""
    usual = USUAL[setting]
    return Trial(
        f"{setting}={value}, {who.about}",
        "user_namespace",
        lambda: shell(f"sysctl -qw {setting}={value}"),
        lambda: Report.of(*who.command(*COMMAND)),
        lambda remedy: shell(remedy.quoted()[-1]),
        lambda: shell(f"sysctl -qw {setting}={usual}"),
    )


def without_systemd() -> Trial:
    place = Unmanaged()
    about = "an ordinary user on a machine without systemd"
    return Trial(about, "cgroup_memory", place.as_user, place.look, lambda _: place.as_root(), lambda: None)


def confined() -> Trial:
    """A profile for the program's own path, as an administrator may write one: every file, no mount."""
    profile = Path("/etc/apparmor.d/trial")
    rules = "/{,**} rwlkmix, capability, network, signal, ptrace, unix, dbus, umount, pivot_root, remount,"
    service = Service(USER)

    def fault() -> None:
        profile.write_text(f"profile trial {BELLJAR} flags=(attach_disconnected) {{\n{rules}\n}}\n")
        shell(f"apparmor_parser --replace {profile}")
        service.install()

    def follow(remedy: Remedy) -> None:
        shell(remedy.quoted(FILE=str(profile))[-1])

    def undo() -> None:
        profile.unlink()
        service.uninstall()

    return Trial("a profile without mounts", "private_root", fault, service.look, follow, undo)


TRIALS: dict[str, tuple[Trial | Elsewhere, ...]] = {
    "delegate": (
        not_delegated("a service of a user who never logged in", f"User={NEWCOMER}"),
        not_delegated("root, where systemd is out of reach", UNREACHABLE),
    ),
    "linger": (
        without_linger("as by cron, in a service of root's"),
        without_linger("in a slice of users", "systemd-run", "--quiet", "--scope", "--slice=user.slice"),
    ),
    "writable_groups": (
        in_service("ProtectControlGroups=", "cgroup_memory", "ProtectControlGroups=yes"),
        in_service("ReadOnlyPaths=, an ordinary user", "cgroup_memory", USER, "ReadOnlyPaths=/sys"),
    ),
    "user_controllers": (
        few_controllers("in a login session", machine.USER_LOGIN),
        few_controllers("in a delegated service of the user's", machine.USER_DELEGATED),
    ),
    "boot_controller": (
        Elsewhere("it takes another boot: see the first lines, and those of the boot before"),
    ),
    "container_groups": (Elsewhere("it takes containers: scripts/test-vm --containers"),),
    "run_as_root": (without_systemd(),),
    "move_processes": (
        Elsewhere("it is about embedding programs: who_must_not_be_moved_is_told_how_cells_can_have_groups"),
    ),
    "apparmor": (
        Elsewhere(
            "Debian's kernel has no kernel.apparmor_restrict_unprivileged_userns; see docs/packaging.md"
        ),
    ),
    "apparmor_profile": (confined(),),
    "userns_clone": (sysctl(CLONE, "0", machine.USER_LOGIN), sysctl(CLONE, "0", machine.ROOT_SERVICE)),
    "max_user_namespaces": (
        sysctl(ALLOWED, "0", machine.USER_LOGIN),
        sysctl(ALLOWED, "0", machine.ROOT_SERVICE),
        # Cells are made in a namespace below another, so one is not enough.
        sysctl(ALLOWED, "1", machine.USER_LOGIN),
    ),
    "container_profile": (Elsewhere("it takes containers: scripts/test-vm --containers"),),
    "unit_profile": (
        in_service("RestrictNamespaces=", "user_namespace", USER, "RestrictNamespaces=yes"),
        in_service(
            "the same in a unit with Delegate=",
            "user_namespace",
            USER,
            "RestrictNamespaces=yes",
            "Delegate=yes",
        ),
        in_service("ProtectHostname=", "uts_namespace", USER, "ProtectHostname=yes"),
        in_service("a filter that kills at a mount", "private_root", USER, "SystemCallFilter=~@mount"),
        in_service("a filter that kills the helper", "engine", USER, "SystemCallFilter=@system-service"),
        in_service("RestrictAddressFamilies=", "network_namespace", USER, "RestrictAddressFamilies=AF_UNIX"),
        in_service("CapabilityBoundingSet=, root", "user_namespace", "CapabilityBoundingSet="),
        Elsewhere(
            "ProtectKernelTunables= and ProtectKernelLogs= break nothing under systemd 252, and cells under 257:"
            " see docs/packaging.md"
        ),
    ),
    "kernel": (Elsewhere("every kernel of Debian from 5.10 on has what cells need"),),
    "landlock": (Elsewhere("it takes another boot: see the first lines, and those of the boot before"),),
}
