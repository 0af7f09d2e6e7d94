//! Files beneath one directory, whose owner may change everything at any moment.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use belljar_core::GuestPath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::cell::{Entry, EntryKind, Listing};

/// A directory. Nothing outside it is ever opened. Everything here blocks.
#[derive(Debug)]
pub struct Tree {
    pub(super) root: OwnedFd,
    /// The file system it is on. What is on another was granted, and is not the guest's.
    pub(super) device: u64,
    /// Where something is granted. Its mounts go with the guest's last process, and leave empty
    /// places.
    granted: Arc<[String]>,
}

/// How deep directories are looked into. Each level is one descriptor.
pub(super) const DEEPEST: usize = 64;
/// How long a path may be that is looked into. The kernel takes no longer one.
pub(super) const LONGEST: usize = 4096;
/// How long all paths of a listing may be together. A guest chooses them, and this process keeps
/// them.
const MOST_BYTES: usize = 16 << 20;

impl Tree {
    /// Takes a descriptor of the directory, however it was opened.
    pub fn new(root: OwnedFd) -> io::Result<Self> {
        let device = rustix::fs::fstat(&root)?.st_dev;
        Ok(Self { root, device, granted: Arc::default() })
    }

    /// Leaves out places in it where something is granted.
    #[cfg(feature = "native")]
    pub(crate) fn without(mut self, granted: &Arc<[String]>) -> Self {
        self.granted = Arc::clone(granted);
        self
    }

    pub(super) fn is_granted(&self, path: &OsStr) -> bool {
        self.granted.iter().any(|place| Path::new(path).starts_with(place))
    }

    /// Lists everything. Stops after `most` entries.
    pub fn list(&self, most: usize) -> io::Result<Listing> {
        let top = beneath(self.root.as_fd(), Path::new("."), directory())?;
        let mut walk =
            Walk { tree: self, most, bytes: 0, listing: Listing { entries: Vec::new(), is_whole: true } };
        walk.enter(&top, &OsString::new(), DEEPEST)?;
        Ok(walk.listing)
    }

    /// Opens a regular file to read it. Returns its size.
    pub fn open(&self, path: &GuestPath) -> io::Result<(File, u64)> {
        // Without waiting: it may be a FIFO by now, or somebody may hold a lease on it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = beneath(self.root.as_fd(), path.as_ref(), flags)?;
        let found = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok((file.into(), u64::try_from(found.st_size).unwrap_or(0)))
    }

    /// Makes a file that nobody else has open. It takes the place of what had its name.
    pub fn create(&self, path: &GuestPath, is_executable: bool) -> io::Result<File> {
        let (parent, name) = self.parent_of(path)?;
        match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if is_executable { 0o755 } else { 0o644 };
        let file = rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(mode))?;
        Ok(file.into())
    }

    /// Makes a directory, and those above it.
    pub fn make_directory(&self, path: &GuestPath) -> io::Result<()> {
        let (parent, name) = self.parent_of(path)?;
        enter(parent.as_fd(), name).map(drop)
    }

    /// Removes a file, a link, or whatever else is no directory.
    pub fn remove(&self, path: &GuestPath) -> io::Result<()> {
        let (above, name) = split(path);
        let above = beneath(self.root.as_fd(), Path::new(above), OFlags::PATH | OFlags::DIRECTORY)?;
        Ok(rustix::fs::unlinkat(&above, name, AtFlags::empty())?)
    }

    /// The directory above a path, made if it is not there, and the name in it.
    pub(super) fn parent_of<'p>(&self, path: &'p GuestPath) -> io::Result<(OwnedFd, &'p OsStr)> {
        if self.is_granted(OsStr::new(path.as_str())) {
            return Err(Errno::XDEV.into());
        }
        let mut place = beneath(self.root.as_fd(), Path::new("."), OFlags::PATH | OFlags::DIRECTORY)?;
        let (above, name) = split(path);
        for part in above.split('/').filter(|part| *part != ".") {
            place = enter(place.as_fd(), OsStr::new(part))?;
        }
        Ok((place, name))
    }
}

/// A look at everything below a directory.
struct Walk<'a> {
    tree: &'a Tree,
    most: usize,
    /// How long all paths are together.
    bytes: usize,
    listing: Listing,
}

impl Walk<'_> {
    fn enter(&mut self, place: &OwnedFd, path: &OsStr, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(place)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if self.listing.entries.len() >= self.most || self.bytes > MOST_BYTES {
                self.listing.is_whole = false;
                return Ok(());
            }
            // It may be gone by now.
            let Ok(found) = rustix::fs::statat(place, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let path = joined(path, name);
            if found.st_dev != self.tree.device || self.tree.is_granted(&path) {
                continue;
            }
            let at = self.listing.entries.len();
            self.bytes += path.len();
            self.listing.entries.push(described(path.clone(), &found));
            if self.listing.entries[at].kind != EntryKind::Directory {
                continue;
            }
            let looked_into = match depth {
                0 => Err(Errno::NAMETOOLONG.into()),
                _ if path.len() >= LONGEST => Err(Errno::NAMETOOLONG.into()),
                _ => beneath(place.as_fd(), Path::new(OsStr::from_bytes(name)), directory())
                    .and_then(|below| self.enter(&below, &path, depth - 1)),
            };
            if looked_into.is_err() {
                self.listing.entries[at].kind = EntryKind::ClosedDirectory;
            }
        }
        Ok(())
    }
}

/// The directory that a path is in, and its name there.
pub(super) fn split(path: &GuestPath) -> (&str, &OsStr) {
    let (above, name) = path.as_str().rsplit_once('/').unwrap_or((".", path.as_str()));
    (above, OsStr::new(name))
}

/// A directory in a directory, made if it is not there.
pub(super) fn enter(place: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(place, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    beneath(place, Path::new(name), OFlags::PATH | OFlags::DIRECTORY)
}

pub(super) fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK
}

/// Opens a path that cannot lead out of a place: through no link, and to no other file system.
pub(super) fn beneath(place: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    const TRIES: usize = 100;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..TRIES {
        match rustix::fs::openat2(place, path, flags, Mode::empty(), resolve) {
            // Something was renamed meanwhile, and the kernel cannot vouch for the way.
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return Ok(opened?),
        }
    }
    Err(Errno::AGAIN.into())
}

pub(super) fn joined(path: &OsStr, name: &[u8]) -> OsString {
    let mut bytes = path.as_bytes().to_vec();
    if !bytes.is_empty() {
        bytes.push(b'/');
    }
    bytes.extend_from_slice(name);
    OsString::from_vec(bytes)
}

/// What a mode says that something is.
pub(super) fn kind_of(mode: u32) -> EntryKind {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

fn described(path: OsString, found: &Stat) -> Entry {
    let kind = kind_of(found.st_mode);
    let size = if kind == EntryKind::File { u64::try_from(found.st_size).unwrap_or(0) } else { 0 };
    Entry { path, kind, size, is_executable: found.st_mode & 0o100 != 0 }
}
