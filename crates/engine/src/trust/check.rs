//! Whether others could change a file or a directory, and everything in it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

use super::directory::READ;
use super::{Distrust, group};

/// What something is looked at as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    /// A part of the way: in a sticky directory others can add, and neither remove nor rename what is ours.
    Way,
    /// What is kept.
    Contents,
}

pub(super) fn stat(file: impl AsFd, path: &Path) -> Result<Stat, Distrust> {
    rustix::fs::fstat(file).map_err(Distrust::io("look at", path))
}

pub(super) fn check(stat: &Stat, path: &Path, as_what: As) -> Result<(), Distrust> {
    const STICKY: u32 = 0o1000;
    check_owner(stat, path)?;
    let mode = stat.st_mode & 0o7777;
    let open_to = mode & 0o022;
    let is_closed = open_to == 0 || (open_to == 0o020 && group::is_ours_alone(stat.st_gid));
    if is_closed || (as_what == As::Way && mode & STICKY != 0) {
        return Ok(());
    }
    Err(Distrust::Writable { path: path.to_owned(), mode })
}

pub(super) fn check_owner(stat: &Stat, path: &Path) -> Result<(), Distrust> {
    let owner = stat.st_uid;
    match owner == 0 || owner == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => Err(Distrust::Owner { path: path.to_owned(), owner }),
    }
}

/// Looks at everything in a directory. No call of itself: how deep it goes is not ours to say.
pub(super) fn check_below(directory: BorrowedFd<'_>, path: &Path) -> Result<(), Distrust> {
    let first = directory.try_clone_to_owned().map_err(|source| Distrust::Io {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    let mut open = vec![(first, path.to_owned())];
    while let Some((directory, path)) = open.pop() {
        for entry in Dir::read_from(&directory).map_err(Distrust::io("read", &path))? {
            let entry = entry.map_err(Distrust::io("read", &path))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let path = path.join(name);
            let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(Distrust::io("look at", &path))?;
            match FileType::from_raw_mode(stat.st_mode) {
                // Where it leads is decided where it is followed: in a cell, among the files of the cell.
                FileType::Symlink => check_owner(&stat, &path)?,
                FileType::RegularFile => check(&stat, &path, As::Contents)?,
                FileType::Directory => {
                    check(&stat, &path, As::Contents)?;
                    let below = rustix::fs::openat(&directory, name, OFlags::DIRECTORY | READ, Mode::empty())
                        .map_err(Distrust::io("open", &path))?;
                    open.push((below, path));
                }
                FileType::Socket => return Err(Distrust::Kind { path, kind: "a socket" }),
                FileType::Fifo => return Err(Distrust::Kind { path, kind: "a pipe" }),
                _ => return Err(Distrust::Kind { path, kind: "a device" }),
            }
        }
    }
    Ok(())
}
