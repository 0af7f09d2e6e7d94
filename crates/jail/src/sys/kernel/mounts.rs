//! What a process sees of the file system, and the host name it sees.

use std::ffi::{OsStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::null;

use super::{c, check, check_long, number, syscall};

unsafe extern "C" {
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_void,
    ) -> c_int;
    fn umount2(target: *const c_char, flags: c_int) -> c_int;
    fn sethostname(name: *const c_char, len: usize) -> c_int;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn fchdir(fd: c_int) -> c_int;
}

const SYS_OPEN_TREE: i64 = 428;
const SYS_MOVE_MOUNT: i64 = 429;
pub(super) const AT_EMPTY_PATH: c_uint = 0x1000;
pub(super) const AT_RECURSIVE: c_uint = 0x8000;
const SYS_OPENAT2: i64 = 437;

pub(crate) const MS_RDONLY: u64 = 1;
pub(crate) const MS_NOSUID: u64 = 2;
pub(crate) const MS_NODEV: u64 = 4;
pub(crate) const MS_NOEXEC: u64 = 8;
pub(crate) const MS_BIND: u64 = 0x1000;
pub(crate) const MS_REC: u64 = 0x4000;
pub(crate) const MS_PRIVATE: u64 = 0x4_0000;

/// `mount(2)`. An empty `data` means none.
pub(crate) fn mount_at(
    source: impl AsRef<OsStr>,
    target: impl AsRef<OsStr>,
    kind: &str,
    flags: u64,
    data: &str,
) -> io::Result<()> {
    let (source, target, kind, data) = (c(source)?, c(target)?, c(kind)?, c(data)?);
    let data = if data.is_empty() { null() } else { data.as_ptr().cast::<c_void>() };
    // SAFETY: every pointer is a NUL-terminated string that outlives the call, or null where that
    // is allowed.
    check(unsafe { mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data) }).map(drop)
}

/// `open_tree(2)`: another mount of an open place and of everything mounted below it. It is nowhere
/// yet, and goes when it is closed.
pub(crate) fn copy_tree(place: RawFd) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE_CLOEXEC: c_uint = 1 | 0o2_000_000;
    let flags = OPEN_TREE_CLONE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
    // SAFETY: a NUL-terminated string that outlives the call; the result is a descriptor only we
    // know.
    unsafe {
        let fd = check_long(syscall(SYS_OPEN_TREE, place, c"".as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// `move_mount(2)`: puts such a tree somewhere.
pub(crate) fn attach_tree(tree: RawFd, target: impl AsRef<OsStr>) -> io::Result<()> {
    const AT_FDCWD: c_int = -100;
    const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
    let target = c(target)?;
    // SAFETY: the pointers are NUL-terminated strings that outlive the call.
    check_long(unsafe {
        syscall(SYS_MOVE_MOUNT, tree, c"".as_ptr(), AT_FDCWD, target.as_ptr(), MOVE_MOUNT_F_EMPTY_PATH)
    })
    .map(drop)
}

/// Makes the current directory the root of this mount namespace and detaches the old root.
pub(crate) fn pivot_here() -> io::Result<()> {
    const MNT_DETACH: c_int = 2;
    let here = c".";
    // SAFETY: both pointers are NUL-terminated strings that outlive the calls.
    check_long(unsafe { syscall(number::PIVOT_ROOT, here.as_ptr(), here.as_ptr()) })?;
    // SAFETY: as above. The old root is now stacked on top of the new one; this takes it off.
    check(unsafe { umount2(here.as_ptr(), MNT_DETACH) }).map(drop)
}

/// Opens a path as a location only (`O_PATH`), which takes no right on the file itself.
pub(crate) fn open_path(path: impl AsRef<OsStr>) -> io::Result<OwnedFd> {
    const O_PATH: c_int = 0o10_000_000;
    const O_CLOEXEC: c_int = 0o2_000_000;
    let path = c(path)?;
    // SAFETY: a NUL-terminated string that outlives the call; the result is a descriptor only we
    // know.
    unsafe {
        let fd = check(open(path.as_ptr(), O_PATH | O_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

const NO_MAGICLINKS_NO_SYMLINKS: u64 = 0x02 | 0x04;

/// The same for a path that must not contain a symbolic link.
pub(crate) fn open_path_without_links(path: impl AsRef<OsStr>) -> io::Result<OwnedFd> {
    const AT_FDCWD: c_int = -100;
    open_path_resolving(AT_FDCWD, path, NO_MAGICLINKS_NO_SYMLINKS)
}

/// The same for a path that must not lead out of a directory either.
pub(crate) fn open_path_below(directory: RawFd, path: impl AsRef<OsStr>) -> io::Result<OwnedFd> {
    const BENEATH: u64 = 0x08;
    open_path_resolving(directory, path, NO_MAGICLINKS_NO_SYMLINKS | BENEATH)
}

fn open_path_resolving(directory: c_int, path: impl AsRef<OsStr>, resolve: u64) -> io::Result<OwnedFd> {
    const O_PATH_CLOEXEC: u64 = 0o10_000_000 | 0o2_000_000;
    let path = c(path)?;
    // `struct open_how`: flags, mode, resolve.
    let how = [O_PATH_CLOEXEC, 0, resolve];
    // SAFETY: the pointers outlive the call and the size is that of the structure passed; the
    // result is a descriptor only we know.
    unsafe {
        let fd = check_long(syscall(SYS_OPENAT2, directory, path.as_ptr(), how.as_ptr(), size_of_val(&how)))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// `fchdir(2)`.
pub(crate) fn enter_directory(fd: RawFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { fchdir(fd) }).map(drop)
}

/// `sethostname(2)`: the host name in this UTS namespace.
pub(crate) fn set_hostname(name: &str) -> io::Result<()> {
    // SAFETY: pointer and length belong together.
    check(unsafe { sethostname(name.as_ptr().cast(), name.len()) }).map(drop)
}
