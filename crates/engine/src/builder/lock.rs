//! Only one thread or process makes a layer at a time.
//!
//! The lock is an `flock` on an empty file beside the layer. The kernel releases it when its holder
//! dies. So a free lock proves that nobody works on that key, which no process number could prove.
//! The files stay, because removing one would let two makers lock two files of the same name.
//!
//! A wait for the lock asks for it again and again. The kernel's own wait could not be stopped.
//!
//! The same kind of lock, shared, says that something is in use ([`Lock::share`]).

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use super::stop::Stop;
use crate::InProcess;

/// How often a lock that another holds is asked for. An installer takes seconds.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// The lock is held until this is dropped.
#[derive(Debug)]
pub(super) struct Lock(
    #[cfg_attr(not(test), expect(dead_code, reason = "kept for its drop, which unlocks"))]
    InProcess<UnlockOnDrop>,
);

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

impl Lock {
    /// Takes the lock. If another holds it, calls `waiting` first. `None` if the wait was stopped.
    pub(super) fn take(path: &Path, stop: &Stop, waiting: impl FnOnce()) -> io::Result<Option<Self>> {
        let file = match Self::try_take(path)? {
            Ok(lock) => return Ok(Some(lock)),
            Err(file) => file,
        };
        waiting();
        while !stop.within(ASK_AGAIN)? {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self::of(file))),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    fn of(file: File) -> Self {
        Self(InProcess::new(UnlockOnDrop(file)))
    }

    /// Takes a share of the lock. All shares exclude one whole lock. `None` if the wait for a whole
    /// lock was stopped.
    pub(super) fn share(file: File, stop: &Stop) -> io::Result<Option<Self>> {
        loop {
            match file.try_lock_shared() {
                Ok(()) => return Ok(Some(Self::of(file))),
                Err(TryLockError::WouldBlock) if stop.within(ASK_AGAIN)? => return Ok(None),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Takes the lock if it is free. Otherwise returns the file to wait on.
    pub(super) fn try_take(path: &Path) -> io::Result<Result<Self, File>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Ok(Self::of(file))),
            Err(TryLockError::WouldBlock) => Ok(Err(file)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Opens a file to lock, and makes it if it is missing. A link is not followed.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o644).custom_flags(NO_LINK).open(path)
}

/// Opens a file to lock that this user may only read. It must exist.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
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
        let lock = Lock::try_take(&path).unwrap().unwrap();
        // As a fork has it: the same open file, under another number.
        let _of_a_fork = lock.0.0.try_clone().unwrap();
        assert!(Lock::try_take(&path).unwrap().is_err());
        drop(lock);
        assert!(Lock::try_take(&path).unwrap().is_ok());
    }
}
