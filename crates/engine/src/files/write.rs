//! Making files and links, so that nobody ever sees half of one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use belljar_core::{GuestPath, random_hex};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::tree::{Tree, beneath, enter, kind_of, split};
use crate::cell::EntryKind;

impl Tree {
    /// Makes a file with these permissions, which `write` fills. It takes the place of whatever had
    /// its name when it is whole. If anything fails, what was there stays.
    pub fn replace(
        &self,
        path: &GuestPath,
        mode: u32,
        write: &mut dyn FnMut(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (parent, name) = self.parent_of(path)?;
        let mut file = Unnamed::make(&parent)?;
        belljar_jail::without_file_size_signal(|| write(&mut file.file))?;
        rustix::fs::fchmod(&file.file, Mode::from_raw_mode(mode & 0o777))?;
        file.take_the_place_of(name)
    }

    /// Makes a symbolic link that leads there. It takes the place of what had its name, unless that
    /// is a directory with something in it.
    pub fn link(&self, path: &GuestPath, target: &OsStr) -> io::Result<()> {
        let (parent, name) = self.parent_of(path)?;
        let temporary = temporary_name();
        rustix::fs::symlinkat(target, &parent, &temporary)?;
        let renamed = match rustix::fs::renameat(&parent, &temporary, &parent, name) {
            Err(Errno::ISDIR) => rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)
                .and_then(|()| rustix::fs::renameat(&parent, &temporary, &parent, name)),
            renamed => renamed,
        };
        if renamed.is_err() {
            let _ = rustix::fs::unlinkat(&parent, &temporary, AtFlags::empty());
        }
        Ok(renamed?)
    }

    /// Gives something another name. What has that name is replaced, unless it is a directory.
    pub fn rename(&self, from: &GuestPath, to: &GuestPath) -> io::Result<()> {
        let (above, name) = split(from);
        let above = beneath(self.root.as_fd(), Path::new(above), OFlags::PATH | OFlags::DIRECTORY)?;
        let (parent, new) = self.parent_of(to)?;
        Ok(rustix::fs::renameat_with(&above, name, &parent, new, RenameFlags::empty())?)
    }

    /// Locks the directory against other processes until what this returns is dropped. `None` if
    /// somebody else has it for so long.
    pub fn lock(&self, within: Duration) -> Option<OwnedFd> {
        const AGAIN: Duration = Duration::from_millis(5);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let handle = beneath(self.root.as_fd(), Path::new("."), flags).ok()?;
        let until = Instant::now() + within;
        while rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > until {
                return None;
            }
            std::thread::sleep(AGAIN);
        }
        Some(handle)
    }

    /// What a name stands for, and its permissions. Links are not followed.
    pub fn look(&self, path: &GuestPath) -> io::Result<(EntryKind, u32)> {
        let (above, name) = split(path);
        let above = beneath(self.root.as_fd(), Path::new(above), OFlags::PATH | OFlags::DIRECTORY)?;
        let found = rustix::fs::statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((kind_of(found.st_mode), found.st_mode & 0o7777))
    }

    /// Takes the right to write from everything at a path and below it.
    pub fn make_read_only(&self, path: &GuestPath) -> io::Result<()> {
        const WRITE: u32 = 0o222;
        // Names, not descriptors: there may be more of them than this process may have open.
        let mut directories = Vec::new();
        self.visit_own_in(path, &mut |found| {
            match found.kind {
                crate::EntryKind::File => {
                    let (place, name) = found.at();
                    // Only of a file that is none but this: the kernel follows links here.
                    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let handle = rustix::fs::openat(place, name, flags, Mode::empty())?;
                    chmod_handle(&handle, Mode::from_raw_mode(found.mode & !WRITE))?;
                }
                crate::EntryKind::Directory => directories.push(found.path.to_owned()),
                _ => {}
            }
            Ok(())
        })?;
        let handle = OFlags::PATH | OFlags::DIRECTORY;
        let top = beneath(self.root.as_fd(), path.as_ref(), handle)?;
        let close = |directory: &OwnedFd| {
            let mode = rustix::fs::fstat(directory)?.st_mode & 0o777;
            chmod_handle(directory, Mode::from_raw_mode(mode & !WRITE))
        };
        for directory in directories {
            close(&beneath(top.as_fd(), Path::new(&directory), handle)?)?;
        }
        close(&top)
    }

    /// Makes a directory, and those above it, and gives it these permissions.
    pub(super) fn enter_or_make(&self, path: &GuestPath) -> io::Result<OwnedFd> {
        let (parent, name) = self.parent_of(path)?;
        enter(parent.as_fd(), name)
    }
}

/// A file that is being written. It has no name until it is whole, so nothing is left of it when
/// this process is killed. Where the file system has no such files, it has a name that nobody looks
/// for.
struct Unnamed<'a> {
    file: File,
    place: &'a OwnedFd,
    /// The name that it has for now.
    temporary: Option<OsString>,
}

impl<'a> Unnamed<'a> {
    fn make(place: &'a OwnedFd) -> io::Result<Self> {
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        match rustix::fs::openat(place, ".", flags, mode) {
            Ok(file) => Ok(Self { file: file.into(), place, temporary: None }),
            // An old kernel takes it for a directory that is to be written to.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let name = temporary_name();
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = rustix::fs::openat(place, &name, flags, mode)?;
                Ok(Self { file: file.into(), place, temporary: Some(name) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A name can be given, and can be changed to one that is taken, but not both at once.
    fn take_the_place_of(mut self, name: &OsStr) -> io::Result<()> {
        let temporary = match &self.temporary {
            Some(temporary) => temporary,
            None => {
                let (file, new) = (by_number(&self.file), temporary_name());
                rustix::fs::linkat(rustix::fs::CWD, file, self.place, &new, AtFlags::SYMLINK_FOLLOW)?;
                self.temporary.insert(new)
            }
        };
        rustix::fs::renameat(self.place, temporary, self.place, name)?;
        self.temporary = None;
        Ok(())
    }
}

impl Drop for Unnamed<'_> {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = rustix::fs::unlinkat(self.place, temporary, AtFlags::empty());
        }
    }
}

/// A directory whose owner may do everything with it, until this is dropped. Then it has the
/// permissions again that it had, unless somebody has changed them meanwhile.
pub(super) struct OpenedUp {
    handle: OwnedFd,
    before: u32,
}

impl OpenedUp {
    /// `None` if its owner may do everything with it already.
    pub(super) fn new(handle: OwnedFd) -> io::Result<Option<Self>> {
        let before = rustix::fs::fstat(&handle)?.st_mode & 0o777;
        if before & Mode::RWXU.bits() == Mode::RWXU.bits() {
            return Ok(None);
        }
        chmod_handle(&handle, Mode::from_raw_mode(before) | Mode::RWXU)?;
        Ok(Some(Self { handle, before }))
    }

    /// A directory by its name. `None` also if it is none by now.
    pub(super) fn directory(place: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Self>> {
        match beneath(place, Path::new(name), OFlags::PATH | OFlags::DIRECTORY) {
            Ok(handle) => Self::new(handle),
            Err(_) => Ok(None),
        }
    }
}

impl Drop for OpenedUp {
    fn drop(&mut self) {
        let opened = self.before | Mode::RWXU.bits();
        let now = rustix::fs::fstat(&self.handle).map(|found| found.st_mode & 0o777);
        if now == Ok(opened) {
            let _ = chmod_handle(&self.handle, Mode::from_raw_mode(self.before));
        }
    }
}

/// Changes the permissions of exactly what a descriptor stands for.
pub(super) fn chmod_handle(handle: &impl AsFd, mode: Mode) -> io::Result<()> {
    Ok(rustix::fs::chmod(by_number(handle), mode)?)
}

/// A path that leads to exactly what a descriptor stands for, for calls that take no descriptor.
fn by_number(handle: &impl AsFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd())
}

/// A name that nobody else has.
pub(crate) fn temporary_name() -> OsString {
    format!(".belljar-{}.tmp", random_hex()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_name_until_it_is_whole_and_what_fails_leaves_nothing() {
        use std::io::Write;
        let place = tempfile::tempdir().unwrap();
        let tree = crate::files::open_tree(place.path()).unwrap();
        let names = || -> Vec<OsString> {
            let entries = std::fs::read_dir(place.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect()
        };
        let path = GuestPath::new("file").unwrap();
        tree.replace(&path, 0o640, &mut |file| {
            file.write_all(b"first")?;
            assert_eq!(names(), [""; 0], "a killed process would leave this behind");
            Ok(())
        })
        .unwrap();
        let failed = tree.replace(&path, 0o640, &mut |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(place.path().join("file")).unwrap(), b"first");
        tree.replace(&path, 0o600, &mut |file| file.write_all(b"second")).unwrap();
        assert_eq!(std::fs::read(place.path().join("file")).unwrap(), b"second");
        assert_eq!(names(), ["file"]);
    }
}
