//! A group that was delegated to us, with our own processes in it.
//!
//! A group that has processes cannot hand memory on. So its processes move down into a leaf, and
//! cells get their groups beside the leaf:
//!
//! ```text
//!  some.service          Delegate=yes, and the limits that its operator set
//!  ├── belljar-host      the processes that were in some.service
//!  └── belljar-812-0     cells of process 812
//! ```
//!
//! The last host to leave puts everything back as it was.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::super::host_directory::{HostDirectory, sweep};
use super::group_files::Group;

/// The name of the leaf.
pub(super) const LEAF: &str = "belljar-host";

/// A delegated group that cells may be made in.
#[derive(Debug)]
pub(super) struct Delegated {
    pub(super) group: Group,
}

impl Delegated {
    /// Makes room for cells, and a directory for those of this host.
    pub(super) fn claim(group: Group) -> io::Result<(Self, HostDirectory)> {
        let _lock = Lock::take(&group.path)?;
        let claimed =
            vacate(&group).and_then(|()| group.hand_on()).and_then(|()| HostDirectory::claim(&group.path));
        match claimed {
            Ok(directory) => Ok((Self { group }, directory)),
            Err(error) => {
                restore(&group);
                Err(error)
            }
        }
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        if let Ok(_lock) = Lock::take(&self.group.path) {
            // What a dead host left is nobody's, and no reason to stay.
            sweep(&self.group.path);
            restore(&self.group);
        }
    }
}

/// Moves the processes of a group into its leaf.
fn vacate(group: &Group) -> io::Result<()> {
    if group.processes()?.is_empty() {
        return Ok(());
    }
    let leaf = group.child(LEAF);
    match fs::create_dir(&leaf.path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => leaf.admit_all_of(group),
    }
}

/// Puts everything back, unless there are other hosts, or groups of somebody else's.
fn restore(group: &Group) {
    let leaf = group.child(LEAF);
    let others = group.children().into_iter().any(|child| child != leaf.path);
    if others || !leaf.path.is_dir() {
        return;
    }
    // While controllers are handed on, no process can come back.
    let restored = group.withdraw().and_then(|()| group.admit_all_of(&leaf));
    if restored.is_ok() {
        let _ = fs::remove_dir(&leaf.path);
    }
}

/// Keeps other hosts from claiming or leaving a group meanwhile.
struct Lock(File);

impl Lock {
    /// A host claims or leaves a group within milliseconds. One that was stopped just then must not
    /// stop all others.
    fn take(group: &Path) -> io::Result<Self> {
        const PATIENCE: Duration = Duration::from_secs(5);
        const PAUSE: Duration = Duration::from_millis(2);
        let directory = File::open(group)?;
        let since = Instant::now();
        loop {
            match directory.try_lock() {
                Ok(()) => return Ok(Self(directory)),
                Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that was forked meanwhile holds the file too, and would keep the lock.
        let _ = self.0.unlock();
    }
}
