//! Removing trees, whatever their permissions are.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belljar_core::GuestPath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::tree::{Tree, beneath, split};
use super::write::chmod_handle;

impl Tree {
    /// Removes something and everything below it. No link is followed.
    pub fn remove_all(&self, path: &GuestPath) -> io::Result<()> {
        let (above, name) = split(path);
        let above = beneath(self.root.as_fd(), Path::new(above), OFlags::PATH | OFlags::DIRECTORY)?;
        remove_in(above.as_fd(), name)
    }

    /// Removes everything in it.
    pub fn clear(&self) -> io::Result<()> {
        let top = beneath(self.root.as_fd(), Path::new("."), OFlags::PATH | OFlags::DIRECTORY)?;
        empty(&top, &mut Surprises::default())
    }
}

/// Removes a name in a directory. What is a directory is emptied first.
pub(crate) fn remove_in(place: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(place, name, AtFlags::empty()) {
        Ok(()) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        // Whoever staged it took the right to change its directory.
        Err(Errno::ACCESS) => open_up(place)?,
        Err(error) => return Err(error.into()),
    }
    match rustix::fs::statat(place, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {}
        Ok(_) => return Ok(rustix::fs::unlinkat(place, name, AtFlags::empty())?),
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let mut surprises = Surprises::default();
    loop {
        let removed = open_handle(place, name).and_then(|directory| empty(&directory, &mut surprises));
        match removed.and_then(|()| Ok(rustix::fs::unlinkat(place, name, AtFlags::REMOVEDIR)?)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => surprises.allow(error)?,
            removed => return removed,
        }
    }
}

/// What somebody else does to a tree while it is removed. It is looked at again then, but not for
/// ever.
#[derive(Default)]
struct Surprises(u32);

impl Surprises {
    fn allow(&mut self, error: io::Error) -> io::Result<()> {
        const MOST: u32 = 10_000;
        const KINDS: [Errno; 6] =
            [Errno::NOENT, Errno::NOTDIR, Errno::ISDIR, Errno::NOTEMPTY, Errno::EXIST, Errno::LOOP];
        self.0 += 1;
        let is_one = Errno::from_io_error(&error).is_some_and(|error| KINDS.contains(&error));
        if is_one && self.0 < MOST { Ok(()) } else { Err(error) }
    }
}

fn open_handle(place: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(place, name, flags, Mode::empty())?)
}

/// Empties a directory, however deep it is: what is below a directory in it is moved up first, so
/// few descriptors are open at a time.
fn empty(place: &OwnedFd, surprises: &mut Surprises) -> io::Result<()> {
    let mut level = 0u64;
    loop {
        let names = names_in(place)?;
        if names.is_empty() {
            return Ok(());
        }
        for (name, is_directory) in names {
            let name = OsStr::from_bytes(&name);
            let removed = match is_directory {
                true => flatten(place, name, &mut level),
                false => unlink(place, name),
            };
            removed.or_else(|error| surprises.allow(error))?;
        }
    }
}

/// Removes a directory. Those in it go up to where it was.
fn flatten(place: &OwnedFd, name: &OsStr, level: &mut u64) -> io::Result<()> {
    let below = open_handle(place, name)?;
    for (inner, is_directory) in names_in(&below)? {
        let inner = OsStr::from_bytes(&inner);
        if is_directory {
            *level += 1;
            // A directory that may not be written to cannot be moved either.
            chmod_handle(&open_handle(&below, inner)?, RWX)?;
            let up = format!(".gone-{level}-{}", std::process::id());
            rustix::fs::renameat(&below, inner, place, up)?;
        } else {
            unlink(&below, inner)?;
        }
    }
    Ok(rustix::fs::unlinkat(place, name, AtFlags::REMOVEDIR)?)
}

const RWX: Mode = Mode::RWXU;

fn unlink(place: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(place, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The names in a directory that is about to go, and which of them are directories.
fn names_in(place: &OwnedFd) -> io::Result<Vec<(Vec<u8>, bool)>> {
    open_up(place.as_fd())?;
    let mut names = Vec::new();
    let listed =
        rustix::fs::openat(place, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for entry in Dir::read_from(&listed)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let is_directory = match entry.file_type() {
            FileType::Unknown => {
                let found = rustix::fs::statat(place, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
            }
            kind => kind == FileType::Directory,
        };
        names.push((name.to_vec(), is_directory));
    }
    Ok(names)
}

/// Gives its owner the right to look into a directory and to change it.
fn open_up(place: BorrowedFd<'_>) -> io::Result<()> {
    let mode = rustix::fs::fstat(place)?.st_mode & 0o7777;
    match mode & RWX.bits() == RWX.bits() {
        true => Ok(()),
        false => chmod_handle(&place, Mode::from_raw_mode(mode & 0o777) | RWX),
    }
}
