//! A directory that can be trusted, and what is read from it.

use std::fs::File;
#[cfg(feature = "native")]
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

#[cfg(feature = "native")]
use belljar_jail::FileIdentity;
use rustix::fs::{FileType, Mode, OFlags};

use super::Distrust;
use super::check::{As, check, check_below};
use super::walk::walk;

/// A directory that only this user and root can change or replace.
#[derive(Debug)]
pub(crate) struct TrustedDirectory {
    pub(super) path: PathBuf,
    pub(super) directory: OwnedFd,
}

impl TrustedDirectory {
    /// Checks the path to a directory, and makes what is missing.
    pub(crate) fn make(path: &Path) -> Result<Self, Distrust> {
        walk(path)
    }

    /// Its path, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The kernel's identity of the directory. It is unique as long as this is open.
    #[cfg(feature = "native")]
    pub(crate) fn identity(&self) -> io::Result<FileIdentity> {
        FileIdentity::of(&self.directory)
    }

    /// A directory in it that can be trusted as much, with everything below.
    pub(crate) fn tree(&self, name: &str) -> Result<Self, Distrust> {
        let path = self.path.join(name);
        let directory = rustix::fs::openat(&self.directory, name, OFlags::DIRECTORY | READ, Mode::empty())
            .map_err(Distrust::io("open", &path))?;
        check(&directory, &path, As::Contents)?;
        check_below(directory.as_fd(), &path)?;
        Ok(Self { path, directory })
    }

    /// A file in it that can be trusted as much.
    pub(crate) fn file(&self, name: &str) -> Result<File, Distrust> {
        let path = self.path.join(name);
        // Without NONBLOCK, a pipe in its place would make this wait.
        let file = rustix::fs::openat(&self.directory, name, OFlags::NONBLOCK | READ, Mode::empty())
            .map_err(Distrust::io("open", &path))?;
        let stat = check(&file, &path, As::Contents)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(Distrust::Kind { path, kind: "not a file" }),
        }
    }
}

/// Only this module follows links, after it has checked them.
pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
pub(super) const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
