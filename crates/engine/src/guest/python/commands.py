"""A guest that becomes a program: a command of any kind, instead of running scripts.

Somebody waits for every line of this. A clone of the zygote copies each page that it writes to, and
Python writes wherever it looks. So what can be known before is known before (`rehearse`), and
signals are set without the enumerations of `signal`.
"""

import _signal
import errno
import os
import resource
import stat

from .values import text

#: What a shell says for these, too.
NOT_FOUND, NOT_RUNNABLE = 127, 126
#: After so many rounds CPython has specialised the code.
REHEARSALS = 20
#: The environment of the guest itself. No script has run in it.
_inherited = {}


def rehearse():
    """Looks at what is alike for all programs, and goes through what is done for each, for nothing."""
    _inherited.update(os.environ)
    request = {"env": {"NAME": "value"}, "places": {"HERE": ""}, "secrets": {}}
    for _ in range(REHEARSALS):
        _find("sh", _environment(request, "/", None))


def become(channel, request):
    """Starts the program in the place of this process. Does not return.

    Whoever asked learns from the end of this process how the program ended. If it cannot be
    started, an `error` frame says why.
    """
    seal, workspace = request["seal"], os.getcwd()
    try:
        os.set_inheritable(channel.descriptor, False)
        root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        environment = _environment(request, workspace, root)
        if request["directory"]:
            os.fchdir(_make(root, request["directory"]))
        if request.get("largest_file") is not None:
            _limit_files(request["largest_file"])
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


def _limit_files(size):
    """Lowers the limit on the size of files. A cell that is limited process by process has one already."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def _lead_a_group():
    try:
        os.setpgid(0, 0)
    except PermissionError:
        pass  # It leads a session, and with that a group.


def _environment(request, workspace, root):
    if not _inherited:
        _inherited.update(os.environ)
    given = request["env"]
    environment = {} if request.get("is_clean") else _inherited.copy()
    if "PATH" not in given:
        # The guest's own is as clean as any: nothing of the host's is in it.
        environment["PATH"] = _inherited.get("PATH", os.defpath)
    for name in ("HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"):
        if name in _inherited:
            environment.setdefault(name, _inherited[name])
    for name, place in request["places"].items():
        if place:
            os.close(_make(root, place))
        environment[name] = f"{workspace}/{place}" if place else workspace
    environment.update(request.get("secrets") or ())
    environment.update(given)
    return environment


def _make(root, place):
    """Makes a directory below another, through no link. Returns a descriptor of it."""
    here = root
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
            if here != root:
                os.close(here)
        here = below
    return here


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
    for usual in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT, _signal.SIGTERM, _signal.SIGCHLD):
        _signal.signal(usual, _signal.SIG_DFL)
    _signal.set_wakeup_fd(-1)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
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
