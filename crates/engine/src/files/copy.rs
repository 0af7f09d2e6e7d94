//! Copying trees. Blocks are shared where the file system can do that.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use belljar_core::GuestPath;
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;

use super::tree::{Tree, beneath, directory};
use super::visit::Found;
use super::write::chmod_handle;
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

impl Tree {
    /// Copies everything of another tree into a directory of this one, over what is there.
    /// Permissions stay. Links that lead nowhere outside of that tree are copied as links; any
    /// other is refused, before anything is copied. FIFOs, sockets and devices are left out.
    pub fn copy_from(&self, source: &Self, to: Option<&GuestPath>) -> io::Result<Copied> {
        source.refuse_foreign_links()?;
        self.copy_all(source, to)
    }

    /// The same, with every link as it is: for a tree that is a twin of another, where what they
    /// lead to is as much a guest's own affair as there.
    pub fn copy_twin(&self, source: &Self) -> io::Result<Copied> {
        self.copy_all(source, None)
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

    fn copy_all(&self, source: &Self, to: Option<&GuestPath>) -> io::Result<Copied> {
        let top = match to {
            Some(path) => self.enter_or_make(path)?,
            None => beneath(self.root.as_fd(), Path::new("."), OFlags::PATH | OFlags::DIRECTORY)?,
        };
        let mut copier = Copier { top: top.as_fd(), copied: Copied::default(), directories: Vec::new() };
        source.visit(&mut |_| true, &mut |found| copier.copy(found))?;
        // Last, because nothing can be put into a directory that may not be written to.
        for (directory, mode) in copier.directories.into_iter().rev() {
            chmod_handle(&directory, Mode::from_raw_mode(mode))?;
        }
        Ok(copier.copied)
    }

    fn refuse_foreign_links(&self) -> io::Result<()> {
        self.visit(&mut |_| true, &mut |found| {
            if found.kind != EntryKind::Link {
                return Ok(());
            }
            let target = found.target()?;
            match stays_inside(Path::new(found.path), Path::new(&target)) {
                true => Ok(()),
                false => Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("the link {:?} leads out of it, to {target:?}", found.path),
                )),
            }
        })
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

struct Copier<'a> {
    top: BorrowedFd<'a>,
    copied: Copied,
    directories: Vec<(OwnedFd, u32)>,
}

impl Copier<'_> {
    fn copy(&mut self, found: &Found<'_>) -> io::Result<()> {
        let path = Path::new(found.path);
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let place = beneath(self.top, above, OFlags::PATH | OFlags::DIRECTORY)?;
        let name = path.file_name().unwrap_or(OsStr::new("."));
        match found.kind {
            EntryKind::Directory | EntryKind::ClosedDirectory => {
                match rustix::fs::mkdirat(&place, name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                let made = beneath(place.as_fd(), Path::new(name), directory())?;
                self.directories.push((made, found.mode & 0o777));
                Ok(())
            }
            EntryKind::Link => {
                super::remove::remove_in(place.as_fd(), name).or_else(absent)?;
                Ok(rustix::fs::symlinkat(found.target()?, &place, name)?)
            }
            EntryKind::File => {
                let from = match open_whatever_its_mode(found) {
                    Ok(from) => from,
                    // It is gone by now, or something else.
                    Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Ok(()),
                    Err(error) => return Err(error),
                };
                rustix::fs::unlinkat(&place, name, rustix::fs::AtFlags::empty()).or_else(
                    |error| match error {
                        Errno::NOENT => Ok(()),
                        error => Err(error),
                    },
                )?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let to = File::from(rustix::fs::openat(&place, name, flags, Mode::RUSR | Mode::WUSR)?);
                self.copied.files += 1;
                self.copied.bytes += found.size;
                self.copied.shared += u64::from(copy_file(&from, &to)?);
                Ok(rustix::fs::fchmod(&to, Mode::from_raw_mode(found.mode & 0o777))?)
            }
            EntryKind::Other => Ok(()),
        }
    }
}

/// Opens a file whose owner has taken the right to read it from himself, too.
fn open_whatever_its_mode(found: &Found<'_>) -> io::Result<File> {
    match found.open() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let (place, name) = found.at();
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = rustix::fs::openat(place, name, flags, Mode::empty())?;
            chmod_handle(&handle, Mode::from_raw_mode(found.mode & 0o777) | Mode::RUSR)?;
            let opened = found.open();
            chmod_handle(&handle, Mode::from_raw_mode(found.mode & 0o777))?;
            opened
        }
        opened => opened,
    }
}

fn absent(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

/// Copies what is in a file. Holes stay holes. Returns whether both share their blocks now.
pub(crate) fn copy_file(from: &File, to: &File) -> io::Result<bool> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(true);
    }
    let size = from.metadata()?.len();
    rustix::fs::ftruncate(to, size)?;
    let mut at = 0;
    while at < size {
        let data = match rustix::fs::seek(from, SeekFrom::Data(at)) {
            Ok(data) => data,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(_) => at,
        };
        let end = rustix::fs::seek(from, SeekFrom::Hole(data)).unwrap_or(size).min(size);
        copy_range(from, to, data, end)?;
        at = end.max(data + 1);
    }
    Ok(false)
}

fn copy_range(from: &File, to: &File, start: u64, end: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let left = usize::try_from(end - read_at).unwrap_or(usize::MAX).min(1 << 30);
        match rustix::fs::copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), left) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            // The file systems do not know each other.
            Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                let mut piece = vec![0; left.min(1 << 20)];
                let read = from.read_at(&mut piece, read_at)?;
                if read == 0 {
                    return Ok(());
                }
                to.write_all_at(&piece[..read], write_at)?;
                read_at += read as u64;
                write_at += read as u64;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
