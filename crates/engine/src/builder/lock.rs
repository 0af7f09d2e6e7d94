//! Only one thread or process makes a layer at a time.
//!
//! The lock is on an empty file beside the layer. The files stay, because removing one would let
//! two makers lock two files of the same name. A wait for the lock asks for it again and again: the
//! kernel's own wait could not be stopped.
//!
//! The same kind of lock, shared, says that something is in use ([`share`]).

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::stop::Stop;
use crate::file_lock::{self, FileLock};

/// How often a lock that another holds is asked for. An installer takes seconds.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Takes the lock. If another holds it, calls `waiting` first. `None` if the wait was stopped.
pub(super) fn take(path: &Path, stop: &Stop, waiting: impl FnOnce()) -> io::Result<Option<FileLock>> {
    let mut file = match try_take(path)? {
        Ok(lock) => return Ok(Some(lock)),
        Err(file) => file,
    };
    waiting();
    while !stop.within(ASK_AGAIN)? {
        match FileLock::try_take(file)? {
            Ok(lock) => return Ok(Some(lock)),
            Err(taken) => file = taken,
        }
    }
    Ok(None)
}

/// Takes a share of the lock. `None` if the wait for who has all of it was stopped.
pub(super) fn share(mut file: File, stop: &Stop) -> io::Result<Option<FileLock>> {
    loop {
        match FileLock::try_share(file)? {
            Ok(lock) => return Ok(Some(lock)),
            Err(_) if stop.within(ASK_AGAIN)? => return Ok(None),
            Err(taken) => file = taken,
        }
    }
}

/// Takes the lock if it is free. Otherwise returns the file to wait on.
pub(super) fn try_take(path: &Path) -> io::Result<Result<FileLock, File>> {
    FileLock::try_take(file_lock::open(path)?)
}
