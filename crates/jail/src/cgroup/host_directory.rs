//! The directory that a host has in a tree, and how it is known whether the host is alive.
//!
//! The host holds a lock on its directory. A directory that nobody locks belonged to a host that
//! died, and the next host removes it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directory of this host in one tree, with the lock that shows the host is alive.
#[derive(Debug)]
pub(super) struct HostDirectory {
    pub(super) path: PathBuf,
    _lock: File,
}

const PREFIX: &str = "belljar-";

impl HostDirectory {
    /// Makes the directory below `parent`, after removing what dead hosts left there.
    pub(super) fn claim(parent: &Path) -> io::Result<Self> {
        const ATTEMPTS: u32 = 1000;
        sweep(parent);
        for attempt in 0..ATTEMPTS {
            let path = parent.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    // Another host that starts right now may lock this directory first, and take it
                    // for an orphan.
                    if let Some(lock) = lock(&path)? {
                        return Ok(Self { path, _lock: lock });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "every name for a control group is taken"))
    }
}

/// Locks a directory. Returns `None` if somebody else holds the lock or has removed the directory.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let directory = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match directory.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    // A host that removes an orphan locks it first, so check that the directory is still there.
    let is_there = fs::metadata(path).is_ok_and(|found| {
        directory.metadata().is_ok_and(|held| (found.dev(), found.ino()) == (held.dev(), held.ino()))
    });
    Ok(is_there.then_some(directory))
}

/// Whether a directory's name is one that [`HostDirectory::claim`] gives. Other programs may use
/// the same prefix.
fn is_host_directory(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, attempt)| is_number(process) && is_number(attempt))
}

impl Drop for HostDirectory {
    fn drop(&mut self) {
        remove_tree(&self.path);
    }
}

/// Removes the directories of dead hosts. The kernel refuses to remove one with a process in it.
pub(super) fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| is_host_directory(path)) {
        if let Ok(Some(_lock)) = lock(&path) {
            remove_tree(&path);
        }
    }
}

/// Removes a group and the groups below it. Their files are the kernel's and go with them.
fn remove_tree(path: &Path) {
    if let Ok(entries) = fs::read_dir(path) {
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let _ = fs::remove_dir(entry.path());
        }
    }
    let _ = fs::remove_dir(path);
}
