"""A guest that becomes a program: a command of any kind, instead of running scripts."""

import errno
import os
import resource
import signal
import stat

from .values import text

#: What a shell says for these, too.
NOT_FOUND, NOT_RUNNABLE = 127, 126


def become(channel, request):
    """Starts the program in the place of this process. Does not return.

    Whoever asked learns from the end of this process how the program ended. If it cannot be
    started, an `error` frame says why.
    """
    seal, workspace = request["seal"], os.getcwd()
    try:
        os.set_inheritable(channel.descriptor, False)
        environment = _environment(request, workspace)
        _enter(workspace, request["directory"])
        limit = request.get("largest_file")
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if request.get("has_stdin"):
            _attach_stdin(channel, seal)
        size = request.get("terminal")
        if size is None:
            # The leader of a group, which the host can signal as one.
            _lead_a_group()
            _start(channel, seal, request["argv"], environment)
        from . import terminals

        environment.setdefault("TERM", "xterm-256color")
        terminals.attend(channel, size, lambda: _start(channel, seal, request["argv"], environment))
    except Refused as refusal:
        _give_up(channel, seal, str(refusal), NOT_RUNNABLE)
    except OSError as error:
        _give_up(channel, seal, f"the program could not be started: {error}", NOT_RUNNABLE)


class Refused(Exception):
    """Why the program is not started."""


def _lead_a_group():
    try:
        os.setpgid(0, 0)
    except PermissionError:
        pass  # It leads a session, and with that a group.


def _environment(request, workspace):
    given = request["env"]
    environment = {} if request.get("is_clean") else dict(os.environ)
    if "PATH" not in given:
        # The guest's own is as clean as any: nothing of the host's is in it.
        environment["PATH"] = os.environ.get("PATH", os.defpath)
    for name in ("HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"):
        if name in os.environ:
            environment.setdefault(name, os.environ[name])
    for name, place in request["places"].items():
        path = os.path.join(workspace, place) if place else workspace
        if place:
            _make(workspace, place)
        environment[name] = path
    environment.update(request.get("secrets") or {})
    environment.update(given)
    return environment


def _make(workspace, place):
    """Makes a directory below the workspace, through no link. Returns a descriptor of it."""
    here = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in place.split("/"):
        try:
            os.mkdir(part, 0o755, dir_fd=here)
        except FileExistsError:
            pass
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise Refused(
                    f"{place!r} is no directory of the workspace: {part!r} is a link or a file"
                ) from None
            raise
        finally:
            os.close(here)
        here = below
    return here


def _enter(workspace, directory):
    if directory:
        here = _make(workspace, directory)
        os.fchdir(here)
        os.close(here)
        # Shells show it.
        os.environ["PWD"] = os.path.join(workspace, directory)


def _attach_stdin(channel, seal):
    channel.send(b'{"type":"stdin","seal":%s}' % text(seal))
    descriptor = channel.receive_descriptor()
    if descriptor is not None:
        os.dup2(descriptor, 0)
        os.close(descriptor)


def _start(channel, seal, argv, environment):
    """Becomes the program, with everything about signals as programs expect it."""
    path = _find(argv[0], environment)
    if path is None:
        _give_up(channel, seal, f"{argv[0]}: command not found", NOT_FOUND)
    for usual in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(usual, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        try:
            os.execve(path, argv, environment)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script that does not say by what it is run.
            os.execve("/bin/sh", ["sh", path, *argv[1:]], environment)
    except FileNotFoundError:
        # The file is there, so its interpreter is not.
        _give_up(channel, seal, f"{argv[0]}: what it is run by is not there", NOT_FOUND)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        _give_up(channel, seal, f"{argv[0]}: {why}", NOT_RUNNABLE)


def _find(name, environment):
    """Where a program is. One without a slash is looked for in its own `PATH`, and nowhere else."""
    if "/" in name:
        return name if os.path.lexists(name) else None
    for place in environment["PATH"].split(":") if environment.get("PATH") else ():
        path = os.path.join(place or ".", name)
        try:
            is_file = stat.S_ISREG(os.stat(path).st_mode)
        except OSError:
            continue
        if is_file and os.access(path, os.X_OK):
            return path
    return None


def _give_up(channel, seal, why, code):
    try:
        channel.send(
            b'{"type":"error","seal":%s,"message":%s,"exit_code":%d}' % (text(seal), text(why), code)
        )
    finally:
        os._exit(code)
