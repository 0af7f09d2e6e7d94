"""The files of a workspace, for the host: a process of its own that comes and goes.

The supervisor forks it, and it speaks with the host in the supervisor's place until the host lets it
go. What passes through its memory goes with it, so the next guest, a copy of the supervisor, cannot
find it there.

Each order is a line of JSON, and `write` is followed by as many bytes as it says. Each answer is one
message, `files`, followed by its payload. Paths are in hexadecimal, because names are bytes.

The guest may be alive and change everything at any moment. So every step of a path is opened by
itself, below the step before, and no link is followed.
"""

import errno
import json
import os
import stat

#: How much of a file is read at once, and how deep directories are looked into.
PIECE, DEEPEST = 256 * 1024, 64
#: How long a path may be, and all paths of a listing together.
LONGEST, MOST_BYTES = 4096, 4 << 20

_LOOK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Clerk:
    def __init__(self, host, workspace):
        self._host = host
        self._root = os.open(workspace, _LOOK)
        self._device = os.fstat(self._root).st_dev
        self._read = self._written = None
        self._listed = 0

    def serve(self):
        """Does what the host asks for until it lets go, or is gone."""
        self._answer()
        while True:
            order = self._next_order()
            if order is None:
                return
            kind = order["order"]
            if kind == "close":
                self._answer()
                return
            try:
                number, payload = getattr(self, f"_{kind}")(order)
            except OSError as error:
                self._answer(failure=error.errno or errno.EIO)
            else:
                self._answer(number, payload)

    def _next_order(self):
        while True:
            order = self._host.next_line()
            if order is not None:
                return order
            if not self._host.fill():
                return None

    def _answer(self, number=0, payload=b"", failure=None):
        line = {"type": "files", "number": number, "size": len(payload), "errno": failure}
        self._host.write([json.dumps(line).encode() + b"\n", payload])

    def _list(self, order):
        found, self._listed = [], 0
        is_whole = self._look_into(os.dup(self._root), b"", DEEPEST, order["most"], found)
        return int(is_whole), json.dumps(found).encode()

    def _look_into(self, place, path, depth, most, found):
        """Adds what is in a directory and below. Returns whether that is everything."""
        try:
            for name in map(os.fsencode, os.listdir(place)):
                if len(found) >= most or self._listed > MOST_BYTES:
                    return False
                try:
                    seen = os.stat(name, dir_fd=place, follow_symlinks=False)
                except OSError:
                    continue  # It is gone by now.
                if seen.st_dev != self._device:
                    continue  # It was granted.
                below = path + b"/" + name if path else name
                self._listed += len(below)
                entry = [below.hex(), _kind(seen.st_mode), seen.st_size, bool(seen.st_mode & 0o100)]
                found.append(entry)
                if entry[1] != "directory":
                    continue
                try:
                    if not depth or len(below) >= LONGEST:
                        raise OSError(errno.ENAMETOOLONG, "too deep")
                    inner = os.open(name, _LOOK, dir_fd=place)
                except OSError:
                    entry[1] = "closed_directory"
                    continue
                if not self._look_into(inner, below, depth - 1, most, found):
                    return False
            return True
        finally:
            os.close(place)

    def _open(self, order):
        parent, name = self._parent(order["path"], make=False)
        try:
            opened = os.open(
                name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent
            )
        finally:
            os.close(parent)
        seen = os.fstat(opened)
        if not stat.S_ISREG(seen.st_mode) or seen.st_dev != self._device:
            os.close(opened)
            raise OSError(errno.EINVAL, "not a regular file")
        self._read = _put_away(self._read, opened)
        return seen.st_size, b""

    def _next(self, _order):
        piece = os.read(self._read, PIECE) if self._read is not None else b""
        if not piece:
            self._read = _put_away(self._read, None)
        return 0, piece

    def _create(self, order):
        parent, name = self._parent(order["path"], make=True)
        try:
            try:
                os.unlink(name, dir_fd=parent)
            except FileNotFoundError:
                pass
            mode = 0o755 if order["is_executable"] else 0o644
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            made = os.open(name, flags, mode, dir_fd=parent)
        finally:
            os.close(parent)
        self._written = _put_away(self._written, made)
        return 0, b""

    def _write(self, order):
        left, failure = order["size"], None
        while left:
            if not self._host.has_bytes() and not self._host.fill():
                raise OSError(errno.EPIPE, "the host is gone")
            try:
                if self._written is None:
                    raise OSError(errno.EBADF, "no file is being written")
                left -= self._host.pass_on(self._written, left)
            except OSError as error:
                # The rest is on its way, and must not be taken for an order.
                failure = failure or error
                left -= self._host.skip(left)
        if failure:
            raise failure
        return 0, b""

    def _finish(self, _order):
        self._written = _put_away(self._written, None)
        return 0, b""

    def _make_directory(self, order):
        parent, name = self._parent(order["path"], make=True)
        try:
            os.close(_enter(parent, name, make=True))
        finally:
            os.close(parent)
        return 0, b""

    def _remove(self, order):
        parent, name = self._parent(order["path"], make=False)
        try:
            os.unlink(name, dir_fd=parent)
        finally:
            os.close(parent)
        return 0, b""

    def _parent(self, path, make):
        """The directory above a path, and the name in it."""
        *above, name = bytes.fromhex(path).split(b"/")
        place = os.dup(self._root)
        for step in above:
            try:
                below = _enter(place, step, make)
            finally:
                os.close(place)
            place = below
            if os.fstat(place).st_dev != self._device:
                os.close(place)
                raise OSError(errno.EXDEV, "granted")
        return place, name


def _enter(place, name, make):
    if make:
        try:
            os.mkdir(name, 0o755, dir_fd=place)
        except FileExistsError:
            pass
    return os.open(name, _LOOK, dir_fd=place)


def _put_away(descriptor, instead):
    if descriptor is not None:
        os.close(descriptor)
    return instead


def _kind(mode):
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"
