//! Copying trees. Blocks are shared where the file system can do that.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use belljar_core::GuestPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::contents::{copy_bytes, copy_file, new_file};
use super::tree::{Tree, beneath, directory};
use super::visit::Found;
use super::write::{OpenedUp, chmod_handle};
use crate::cell::EntryKind;

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Regular files.
    pub files: u64,
    /// Their sizes together.
    pub bytes: u64,
    /// How many of them share their blocks with what they were copied from.
    pub shared: u64,
}

impl std::ops::AddAssign for Copied {
    fn add_assign(&mut self, more: Self) {
        self.files += more.files;
        self.bytes += more.bytes;
        self.shared += more.shared;
    }
}

/// Something of a tree on its way into another. Whoever puts it there needs no right to read it.
#[derive(Debug)]
pub struct Item {
    /// Below the tree.
    path: OsString,
    mode: u32,
    /// When it was last written to, if the copy is to have that too.
    written: Option<Timespec>,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Directory,
    Link(OsString),
    File {
        file: File,
        size: u64,
    },
    /// A FIFO or a socket: a name that processes meet at, and nothing behind it.
    Meeting(FileType),
}

impl Tree {
    /// Copies everything of another tree into a directory of this one, over what is there.
    /// Permissions stay. Links that lead nowhere outside of that tree are copied as links; any
    /// other is refused, before anything is copied. FIFOs, sockets and devices are left out.
    pub fn copy_from(&self, source: &Self, to: Option<&GuestPath>) -> io::Result<Copied> {
        let mut copier = Copier::new(self, to)?;
        source.take_all(&mut |item| copier.put(item))?;
        copier.finish()
    }

    /// Gives everything that [`Tree::copy_from`] would copy, for [`Tree::put_all`].
    pub fn take_all(&self, give: &mut dyn FnMut(Item) -> io::Result<()>) -> io::Result<()> {
        self.refuse_foreign_links()?;
        self.visit_whole(&mut |found| match Item::of(found, || found.open())? {
            Some(item) => {
                // Once more: it may be another link by now.
                if let Content::Link(target) = &item.content {
                    refuse_foreign(&item.path, target)?;
                }
                give(item)
            }
            None => Ok(()),
        })
    }

    /// Puts what another thread takes out of a tree, which may read what this one may not.
    pub fn put_all(
        &self,
        to: Option<&GuestPath>,
        items: &mut dyn Iterator<Item = Item>,
    ) -> io::Result<Copied> {
        let mut copier = Copier::new(self, to)?;
        for item in items {
            copier.put(item)?;
        }
        copier.finish()
    }

    /// A directory in it, as a tree of its own.
    pub fn below(&self, path: &GuestPath) -> io::Result<Self> {
        Self::new(beneath(self.root.as_fd(), path.as_ref(), directory())?)
    }

    /// Copies a file that is open into this tree. It takes the place of what had its name when it
    /// is whole.
    pub fn copy_file_from(&self, from: &File, to: &GuestPath, mode: u32) -> io::Result<()> {
        self.replace(to, mode, &mut |into| copy_file(from, into).map(drop))
    }

    fn refuse_foreign_links(&self) -> io::Result<()> {
        self.visit_whole(&mut |found| match found.kind {
            EntryKind::Link => refuse_foreign(found.path, &found.target()?),
            _ => Ok(()),
        })
    }
}

fn refuse_foreign(link: &OsStr, target: &OsStr) -> io::Result<()> {
    match stays_inside(Path::new(link), Path::new(target)) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("the link {link:?} leads out of it, to {target:?}"),
        )),
    }
}

/// Whether a link leads to a place of its own tree, by its text alone.
fn stays_inside(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return false,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return false,
            },
            Component::Normal(_) => depth += 1,
        }
    }
    true
}

impl Item {
    /// `None` for what is not copied, and for what is gone or something else by now.
    pub(super) fn of(found: &Found<'_>, open: impl FnOnce() -> io::Result<File>) -> io::Result<Option<Self>> {
        let content = match found.kind {
            EntryKind::Directory | EntryKind::ClosedDirectory => Content::Directory,
            EntryKind::Link => Content::Link(found.target()?),
            EntryKind::File => match open() {
                Ok(file) => Content::File { file, size: found.size },
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Ok(None),
                Err(error) => return Err(error),
            },
            EntryKind::Other => return Ok(None),
        };
        Ok(Some(Self::new(found, content)))
    }

    pub(super) fn new(found: &Found<'_>, content: Content) -> Self {
        Self { path: found.path.to_owned(), mode: found.mode & 0o777, written: None, content }
    }

    /// The same, as old as what it is a copy of.
    pub(super) fn of_age(self, found: &Found<'_>) -> Self {
        const STICKY: u32 = 0o1000;
        Self { written: Some(found.written), mode: self.mode | found.mode & STICKY, ..self }
    }
}

/// Puts one thing after the other.
pub(super) struct Copier {
    top: OwnedFd,
    pub(super) copied: Copied,
    /// Their names, not descriptors: there may be more than this process may have open.
    directories: Vec<(OsString, u32, Option<Timespec>)>,
    /// Where the last thing was put. The next is mostly put there, too.
    place: Option<(PathBuf, OwnedFd)>,
    /// Whether the file system has not said yet that files cannot share blocks.
    may_share: bool,
    _opened: Option<OpenedUp>,
}

impl Copier {
    pub(super) fn new(into: &Tree, to: Option<&GuestPath>) -> io::Result<Self> {
        let top = match to {
            Some(path) => into.enter_or_make(path)?,
            None => beneath(into.root.as_fd(), Path::new("."), OFlags::PATH | OFlags::DIRECTORY)?,
        };
        // It may have been staged before, to be read only.
        let _opened = OpenedUp::new(top.try_clone()?)?;
        let (copied, directories) = (Copied::default(), Vec::new());
        Ok(Self { top, copied, directories, place: None, may_share: true, _opened })
    }

    /// Another that puts things into the same place, on another thread.
    pub(super) fn colleague(&self) -> io::Result<Self> {
        let (top, copied, directories) = (self.top.try_clone()?, Copied::default(), Vec::new());
        Ok(Self { top, copied, directories, place: None, may_share: self.may_share, _opened: None })
    }

    pub(super) fn put(&mut self, item: Item) -> io::Result<()> {
        let path = Path::new(&item.path);
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let place = match self.place.take() {
            Some((last, place)) if last == above => place,
            _ => beneath(self.top.as_fd(), above, OFlags::PATH | OFlags::DIRECTORY)?,
        };
        let above = above.to_owned();
        let name = path.file_name().unwrap_or(OsStr::new("."));
        match item.content {
            Content::Directory => {
                match rustix::fs::mkdirat(&place, name, Mode::RWXU) {
                    Ok(()) => {}
                    Err(Errno::EXIST) => {
                        let flags = OFlags::PATH | OFlags::DIRECTORY;
                        chmod_handle(&beneath(place.as_fd(), Path::new(name), flags)?, Mode::RWXU)?;
                    }
                    Err(error) => return Err(error.into()),
                }
                self.directories.push((item.path, item.mode, item.written));
            }
            Content::Link(target) => {
                super::remove::remove_in(place.as_fd(), name).or_else(absent)?;
                rustix::fs::symlinkat(target, &place, name)?;
                if let Some(written) = item.written {
                    rustix::fs::utimensat(&place, name, &since(written), AtFlags::SYMLINK_NOFOLLOW)?;
                }
            }
            Content::Meeting(kind) => {
                super::remove::remove_in(place.as_fd(), name).or_else(absent)?;
                rustix::fs::mknodat(&place, name, kind, Mode::from_raw_mode(item.mode), 0)?;
            }
            Content::File { file, size } => {
                let to = new_file(place.as_fd(), name)?;
                self.copied.files += 1;
                self.copied.bytes += size;
                self.copied.shared += u64::from(self.copy(&file, &to)?);
                rustix::fs::fchmod(&to, Mode::from_raw_mode(item.mode))?;
                if let Some(written) = item.written {
                    rustix::fs::futimens(&to, &since(written))?;
                }
            }
        }
        self.place = Some((above, place));
        Ok(())
    }

    /// Returns whether both share their blocks now.
    fn copy(&mut self, from: &File, to: &File) -> io::Result<bool> {
        if self.may_share {
            match rustix::fs::ioctl_ficlone(to, from) {
                Ok(()) => return Ok(true),
                Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::XDEV) => self.may_share = false,
                Err(_) => {}
            }
        }
        copy_bytes(from, to).map(|()| false)
    }

    /// Gives a second name to a file that was put before.
    pub(super) fn link(&self, file: &OsStr, name: &OsStr) -> io::Result<()> {
        let place = |path: &OsStr| {
            let above = Path::new(path).parent().filter(|above| !above.as_os_str().is_empty());
            beneath(self.top.as_fd(), above.unwrap_or(Path::new(".")), OFlags::PATH | OFlags::DIRECTORY)
        };
        let last = |path| Path::new(path).file_name().unwrap_or_default();
        let (from, to) = (place(file)?, place(name)?);
        Ok(rustix::fs::linkat(from, last(file), to, last(name), AtFlags::empty())?)
    }

    /// Gives directories their permissions. Last, because nothing can be put into one that may not
    /// be written to, and the inner ones first.
    pub(super) fn finish(self) -> io::Result<Copied> {
        for (path, mode, written) in self.directories.into_iter().rev() {
            let made = beneath(self.top.as_fd(), Path::new(&path), directory())?;
            if let Some(written) = written {
                rustix::fs::futimens(&made, &since(written))?;
            }
            rustix::fs::fchmod(&made, Mode::from_raw_mode(mode))?;
        }
        Ok(self.copied)
    }
}

/// When something was last written to, for the kernel. When it was last read stays as it is.
fn since(written: Timespec) -> Timestamps {
    let omit = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Timestamps { last_access: omit, last_modification: written }
}

fn absent(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}
