//! Looking at everything below a directory, one entry after the other.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belljar_core::GuestPath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec};
use rustix::io::Errno;

use super::tree::{DEEPEST, LONGEST, Tree, beneath, directory, joined, kind_of};
use super::write::OpenedUp;
use crate::cell::EntryKind;

/// What is done about a directory that cannot be looked into: its permissions keep us out, or it is
/// deeper than we look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    LeftOut,
    /// An error, where half of a tree is worse than none.
    Refused,
    /// Opened for as long as it is looked into, which only its owner can. One that is too deep is
    /// an error.
    Opened,
}

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
    /// Which one it is on its file system, and whether it has other names there.
    pub(super) inode: u64,
    pub(super) has_other_names: bool,
    /// When it was last written to.
    pub(super) written: Timespec,
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
        self.visit_from(Path::new("."), &mut Visitor { enter: Some(enter), found, closed: Closed::LeftOut })
    }

    /// Looks at everything there is. A directory that cannot be looked into is an error.
    pub fn visit_whole(&self, found: &mut dyn FnMut(&Found<'_>) -> io::Result<()>) -> io::Result<()> {
        self.visit_from(Path::new("."), &mut Visitor::everywhere(found, Closed::Refused))
    }

    /// The same, and nothing is hidden by its permissions: directories that their owner has closed
    /// are open while they are looked into. For the thread that has the owner's rights.
    pub fn visit_own(&self, found: &mut dyn FnMut(&Found<'_>) -> io::Result<()>) -> io::Result<()> {
        self.visit_from(Path::new("."), &mut Visitor::everywhere(found, Closed::Opened))
    }

    /// The same as [`Tree::visit_own`] below a directory in it.
    pub(super) fn visit_own_in(
        &self,
        path: &GuestPath,
        found: &mut dyn FnMut(&Found<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.visit_from(path.as_ref(), &mut Visitor::everywhere(found, Closed::Opened))
    }

    fn visit_from(&self, path: &Path, visitor: &mut Visitor<'_>) -> io::Result<()> {
        let top = beneath(self.root.as_fd(), path, directory())?;
        self.visit_below(&top, OsStr::new(""), DEEPEST, visitor)
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
            let stat = match rustix::fs::statat(place, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::ACCESS) if visitor.closed != Closed::LeftOut => return Err(Errno::ACCESS.into()),
                // It may be gone by now.
                Err(_) => continue,
            };
            let path = joined(path, name.to_bytes());
            if stat.st_dev != self.device || self.is_granted(&path) {
                continue;
            }
            let name = OsStr::from_bytes(name.to_bytes());
            let described = found(&path, &stat, place.as_fd(), name);
            if path.len() >= LONGEST {
                visitor.too_deep(&path)?;
                continue;
            }
            (visitor.found)(&described)?;
            let is_entered = visitor.enter.as_mut().is_none_or(|enter| enter(&path));
            match described.kind {
                EntryKind::Directory if is_entered && depth == 0 => visitor.too_deep(&path)?,
                EntryKind::Directory if is_entered => self.look_into(&described, depth - 1, visitor)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn look_into(&self, directory: &Found<'_>, depth: usize, visitor: &mut Visitor<'_>) -> io::Result<()> {
        const READABLE: u32 = 0o500;
        let is_open = directory.mode & READABLE == READABLE;
        let _opened = match visitor.closed == Closed::Opened && !is_open {
            true => OpenedUp::directory(directory.place, directory.name)?,
            false => None,
        };
        match beneath(directory.place, Path::new(directory.name), self::directory()) {
            Ok(below) => self.visit_below(&below, directory.path, depth, visitor),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => match visitor.closed {
                Closed::LeftOut => {
                    tracing::debug!(%error, path = ?directory.path, "a directory is left out");
                    Ok(())
                }
                Closed::Refused | Closed::Opened => Err(error),
            },
            // It is something else by now.
            Err(error) => {
                tracing::debug!(%error, path = ?directory.path, "a directory is left out");
                Ok(())
            }
        }
    }
}

struct Visitor<'a> {
    /// Which directories to look into. `None` is all of them.
    enter: Option<&'a mut dyn FnMut(&OsStr) -> bool>,
    found: &'a mut dyn FnMut(&Found<'_>) -> io::Result<()>,
    closed: Closed,
}

impl<'a> Visitor<'a> {
    fn everywhere(found: &'a mut dyn FnMut(&Found<'_>) -> io::Result<()>, closed: Closed) -> Self {
        Self { enter: None, found, closed }
    }

    fn too_deep(&self, path: &OsStr) -> io::Result<()> {
        if self.closed == Closed::LeftOut {
            return Ok(());
        }
        let shown: String = path.to_string_lossy().chars().take(60).collect();
        let why = format!("{shown}… is too deep: at most {DEEPEST} directories are looked into");
        Err(io::Error::new(io::ErrorKind::InvalidInput, why))
    }
}

fn found<'a>(path: &'a OsStr, stat: &Stat, place: BorrowedFd<'a>, name: &'a OsStr) -> Found<'a> {
    let kind = kind_of(stat.st_mode);
    let size = if kind == EntryKind::File { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
    let disk_bytes = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    let written = Timespec { tv_sec: stat.st_mtime, tv_nsec: i64::try_from(stat.st_mtime_nsec).unwrap_or(0) };
    Found {
        path,
        kind,
        size,
        mode: stat.st_mode & 0o7777,
        disk_bytes,
        inode: stat.st_ino,
        has_other_names: stat.st_nlink > 1,
        written,
        place,
        name,
    }
}
