//! Whether others could change a file, or a directory with everything in it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

use super::directory::{LOOK, READ};
use super::{Distrust, access_list, group};

/// The role of the path that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    /// A directory on the way to it. It may be sticky: there others can add entries, but cannot
    /// remove or rename those of this user.
    Ancestor,
    /// The directory or file that is kept.
    Contents,
}

pub(super) fn stat(file: impl AsFd, path: &Path) -> Result<Stat, Distrust> {
    rustix::fs::fstat(file).map_err(Distrust::io("look at", path))
}

/// Checks a file or directory by its descriptor, which may be one that only names a path.
pub(super) fn check(file: impl AsFd, path: &Path, as_what: As) -> Result<Stat, Distrust> {
    let stat = stat(&file, path)?;
    if is_closed(&stat, path, as_what)? == Closed::ByItsGroup && access_list::is_on(&file, path)? {
        return Err(Distrust::AccessList { path: path.to_owned() });
    }
    Ok(stat)
}

/// What keeps others from writing.
#[derive(PartialEq, Eq)]
enum Closed {
    /// The mode. An access list cannot grant what the mode does not.
    ByItsMode,
    /// The group may write, and this user is its only member. With an access list, the group's bits
    /// are the most that *anybody* on the list may do.
    ByItsGroup,
}

fn is_closed(stat: &Stat, path: &Path, as_what: As) -> Result<Closed, Distrust> {
    const STICKY: u32 = 0o1000;
    check_owner(stat, path)?;
    let mode = stat.st_mode & 0o7777;
    match mode & 0o022 {
        0 => Ok(Closed::ByItsMode),
        _ if as_what == As::Ancestor && mode & STICKY != 0 => Ok(Closed::ByItsMode),
        0o020 if group::is_ours_alone(stat.st_gid) => Ok(Closed::ByItsGroup),
        _ => Err(Distrust::Writable { path: path.to_owned(), mode }),
    }
}

pub(super) fn check_owner(stat: &Stat, path: &Path) -> Result<(), Distrust> {
    let owner = stat.st_uid;
    match owner == 0 || owner == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => Err(Distrust::Owner { path: path.to_owned(), owner }),
    }
}

/// Checks everything in a directory. It does not call itself, because others decide how deep the
/// directory is.
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
                // Where a link leads is decided where it is followed: in a cell, among the files of
                // the cell.
                FileType::Symlink => check_owner(&stat, &path)?,
                // There are thousands of files. Only those are opened whose mode does not settle
                // it.
                FileType::RegularFile => {
                    if is_closed(&stat, &path, As::Contents)? == Closed::ByItsGroup {
                        let file = rustix::fs::openat(&directory, name, LOOK, Mode::empty())
                            .map_err(Distrust::io("open", &path))?;
                        check(&file, &path, As::Contents)?;
                    }
                }
                FileType::Directory => {
                    let below = rustix::fs::openat(&directory, name, OFlags::DIRECTORY | READ, Mode::empty())
                        .map_err(Distrust::io("open", &path))?;
                    check(&below, &path, As::Contents)?;
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
