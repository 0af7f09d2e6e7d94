//! Looking at everything below a directory, one entry after the other.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belljar_core::GuestPath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::tree::{DEEPEST, LONGEST, Tree, beneath, directory, joined};
use crate::cell::EntryKind;

/// One name below a directory, while it is looked at.
pub struct Found<'a> {
    /// Relative to the directory. Whoever works there chose it, so it may be any bytes.
    pub path: &'a OsStr,
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes, if it is a regular file.
    pub size: u64,
    /// Its permissions.
    pub mode: u32,
    /// How much room it takes.
    pub disk_bytes: u64,
    place: BorrowedFd<'a>,
    name: &'a OsStr,
}

impl Found<'_> {
    /// Opens it, if it is still a regular file. Nothing is waited for.
    pub fn open(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Reading a new file would otherwise be a write to its inode. Only its owner may ask that.
        let file = match rustix::fs::openat(self.place, self.name, flags | OFlags::NOATIME, Mode::empty()) {
            Err(Errno::PERM) => rustix::fs::openat(self.place, self.name, flags, Mode::empty())?,
            opened => opened?,
        };
        match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        }
    }

    /// Where a symbolic link leads.
    pub fn target(&self) -> io::Result<OsString> {
        let target = rustix::fs::readlinkat(self.place, self.name, Vec::new())?;
        Ok(OsStr::from_bytes(target.as_bytes()).to_owned())
    }

    pub(super) fn at(&self) -> (BorrowedFd<'_>, &OsStr) {
        (self.place, self.name)
    }
}

impl Tree {
    /// Looks at everything, a directory before what is in it, by name. `enter` says which
    /// directories to look into. An error of `found` ends it. Directories that cannot be looked
    /// into are left out.
    pub fn visit(
        &self,
        enter: &mut dyn FnMut(&OsStr) -> bool,
        found: &mut dyn FnMut(&Found<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let top = beneath(self.root.as_fd(), Path::new("."), directory())?;
        self.visit_below(&top, OsStr::new(""), DEEPEST, &mut Visitor { enter, found })
    }

    /// The same below a directory in it.
    pub fn visit_in(
        &self,
        path: &GuestPath,
        found: &mut dyn FnMut(&Found<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let top = beneath(self.root.as_fd(), path.as_ref(), directory())?;
        self.visit_below(&top, OsStr::new(""), DEEPEST, &mut Visitor { enter: &mut |_| true, found })
    }

    fn visit_below(
        &self,
        place: &OwnedFd,
        path: &OsStr,
        depth: usize,
        visitor: &mut Visitor<'_>,
    ) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in Dir::read_from(place)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push(entry.file_name().to_owned());
            }
        }
        // In the same order every time, on every file system.
        names.sort_unstable();
        for name in names {
            // It may be gone by now.
            let Ok(stat) = rustix::fs::statat(place, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = joined(path, name.to_bytes());
            if stat.st_dev != self.device || self.is_granted(&path) || path.len() >= LONGEST {
                continue;
            }
            let name = OsStr::from_bytes(name.to_bytes());
            let described = found(&path, &stat, place.as_fd(), name);
            let is_directory = described.kind == EntryKind::Directory;
            (visitor.found)(&described)?;
            if is_directory && depth > 0 && (visitor.enter)(&path) {
                match beneath(place.as_fd(), Path::new(name), directory()) {
                    Ok(below) => self.visit_below(&below, &path, depth - 1, visitor)?,
                    // Its permissions keep us out, or it is something else by now.
                    Err(error) => tracing::debug!(%error, ?path, "a directory is left out"),
                }
            }
        }
        Ok(())
    }
}

struct Visitor<'a> {
    enter: &'a mut dyn FnMut(&OsStr) -> bool,
    found: &'a mut dyn FnMut(&Found<'_>) -> io::Result<()>,
}

fn found<'a>(path: &'a OsStr, stat: &Stat, place: BorrowedFd<'a>, name: &'a OsStr) -> Found<'a> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    };
    let size = if kind == EntryKind::File { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
    let disk_bytes = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    Found { path, kind, size, mode: stat.st_mode & 0o7777, disk_bytes, place, name }
}
