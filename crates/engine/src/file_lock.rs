//! Locks that the kernel takes from the killed: `flock` on a file that is there for nothing else.
//!
//! A free lock proves that nobody is at work, which no process number could prove. Shares of a lock
//! exclude only one who wants all of it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::InProcess;

/// The lock is held until this is dropped, in the process that took it.
#[derive(Debug)]
pub(crate) struct FileLock(InProcess<UnlockOnDrop>);

/// To close the file is not enough: if this process has been forked meanwhile, the fork has it open
/// too.
#[derive(Debug)]
struct UnlockOnDrop(File);

impl Drop for UnlockOnDrop {
    fn drop(&mut self) {
        // If that fails, the end of this process unlocks it.
        let _ = self.0.unlock();
    }
}

impl FileLock {
    /// Takes all of the lock if it is free. Otherwise returns the file to wait on.
    pub(crate) fn try_take(file: File) -> io::Result<Result<Self, File>> {
        let tried = file.try_lock();
        Self::of(file, tried)
    }

    /// Takes a share of the lock, unless somebody has all of it. Then returns the file to wait on.
    pub(crate) fn try_share(file: File) -> io::Result<Result<Self, File>> {
        let tried = file.try_lock_shared();
        Self::of(file, tried)
    }

    fn of(file: File, tried: Result<(), TryLockError>) -> io::Result<Result<Self, File>> {
        match tried {
            Ok(()) => Ok(Ok(Self(InProcess::new(UnlockOnDrop(file))))),
            Err(TryLockError::WouldBlock) => Ok(Err(file)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The file that it is a lock on.
    pub(crate) fn file(&self) -> &File {
        &self.0.0
    }
}

/// Opens a file to lock, and makes it if it is missing. A link is not followed.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o644).custom_flags(NO_LINK).open(path)
}

/// Opens a file to lock that this user may only read. It must exist.
#[cfg(any(feature = "native", feature = "local"))]
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(NO_LINK).open(path)
}

const NO_LINK: i32 = OFlags::NOFOLLOW.bits().cast_signed();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_that_has_the_file_open_does_not_hold_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let take = || FileLock::try_take(open(&path).unwrap()).unwrap();
        let lock = take().unwrap();
        // As a fork has it: the same open file, under another number.
        let _of_a_fork = lock.file().try_clone().unwrap();
        assert!(take().is_err());
        drop(lock);
        assert!(take().is_ok());
    }

    #[test]
    fn shares_exclude_only_one_who_wants_all_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let share = || FileLock::try_share(open(&path).unwrap()).unwrap();
        let take = || FileLock::try_take(open(&path).unwrap()).unwrap();
        let (one, other) = (share().unwrap(), share().unwrap());
        drop(one);
        assert!(take().is_err());
        drop(other);
        let _whole = take().unwrap();
        assert!(share().is_err());
    }
}
