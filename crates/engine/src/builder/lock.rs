//! One maker per layer, among threads and processes alike.
//!
//! The lock is an `flock` on an empty file beside the layer. The kernel lets go of it when its holder dies, so a free
//! lock proves that nobody is at work on that key; no process number can prove as much. The files stay: removing one
//! would let two makers lock two files of the same name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Held until dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "kept for its drop, which unlocks")] File);

impl Lock {
    /// Takes the lock, calling `waiting` first if another holds it.
    pub(super) fn take(path: &Path, waiting: impl FnOnce()) -> io::Result<Self> {
        match Self::try_take(path)? {
            Ok(lock) => Ok(lock),
            Err(file) => {
                waiting();
                file.lock()?;
                Ok(Self(file))
            }
        }
    }

    /// Takes the lock if it is free; otherwise gives back the file to wait on.
    pub(super) fn try_take(path: &Path) -> io::Result<Result<Self, File>> {
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o644)
            .custom_flags(no_link)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Ok(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(Err(file)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
