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

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::super::host_directory::{HostDirectory, sweep};
use super::group_files::Group;

/// The name of the leaf.
pub(super) const LEAF: &str = "belljar-host";

/// A delegated group that cells may be made in.
#[derive(Debug)]
pub(super) struct Delegated {
    pub(super) group: Group,
    /// The process that claimed it. A child that it forked must not leave for it.
    owner: u32,
}

impl Delegated {
    /// Makes room for cells, and a directory for those of this host.
    pub(super) fn claim(group: Group) -> io::Result<(Self, HostDirectory)> {
        let _lock = lock(&group.path)?;
        let claimed = Self { group, owner: std::process::id() };
        claimed.vacate()?;
        match claimed.group.hand_on().and_then(|()| HostDirectory::claim(&claimed.group.path)) {
            Ok(directory) => Ok((claimed, directory)),
            Err(error) => {
                // The lock is held, so this does not wait for `drop` to get it.
                claimed.restore();
                std::mem::forget(claimed);
                Err(error)
            }
        }
    }

    /// Moves its processes into the leaf.
    fn vacate(&self) -> io::Result<()> {
        if self.group.processes()?.is_empty() {
            return Ok(());
        }
        let leaf = self.group.child(LEAF);
        match fs::create_dir(&leaf.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        leaf.admit_all_of(&self.group).inspect_err(|_| self.restore())
    }

    /// Puts everything back, unless there are other hosts, or groups of somebody else's.
    fn restore(&self) {
        let leaf = self.group.child(LEAF);
        let others = self.group.children().into_iter().any(|child| child != leaf.path);
        if others || !leaf.path.is_dir() {
            return;
        }
        // While controllers are handed on, no process can come back.
        let restored = self.group.withdraw().and_then(|()| self.group.admit_all_of(&leaf));
        if restored.is_ok() {
            let _ = fs::remove_dir(&leaf.path);
        }
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        if self.owner != std::process::id() {
            return;
        }
        if let Ok(_lock) = lock(&self.group.path) {
            // What a dead host left is nobody's, and no reason to stay.
            sweep(&self.group.path);
            self.restore();
        }
    }
}

/// Keeps other hosts from claiming or leaving a group meanwhile.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that was forked meanwhile holds the file too, and would keep the lock.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// A host claims or leaves a group within milliseconds. One that was stopped just then must not
/// stop all others.
fn lock(group: &Path) -> io::Result<Lock> {
    const PATIENCE: Duration = Duration::from_secs(5);
    const PAUSE: Duration = Duration::from_millis(2);
    let directory = File::open(group)?;
    let since = Instant::now();
    loop {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Lock(directory)),
            Err(rustix::io::Errno::WOULDBLOCK) if since.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(error) => return Err(error.into()),
        }
    }
}
