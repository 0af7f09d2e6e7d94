//! The workspace's own record, reached beneath its directory like everything else in it: a program
//! may have put anything there.

use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use belljar_engine::Tree;
use belljar_engine::kept::KeptWorkspace;

use super::put::path;
use crate::layout::METADATA;
use crate::{Timestamp, WorkspaceError, WorkspaceMetadata};

/// More than any record of ours has.
const LONGEST: u64 = 16 << 20;
const MODE: u32 = 0o600;
/// How long another process is waited for. A program in the workspace may hold the lock for ever.
const PATIENCE: Duration = Duration::from_secs(2);

/// The record of a workspace that is being made.
pub(super) fn begin(tree: &Tree) -> io::Result<()> {
    write(tree, &WorkspaceMetadata::new(Timestamp::now()))
}

fn write(tree: &Tree, record: &WorkspaceMetadata) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(record)?;
    tree.replace(&path(METADATA)?, MODE, &mut |file| file.write_all(&text))
}

/// What is recorded. A record that is none, or is gone, is a new one: what it said is lost, and the
/// workspace goes on.
pub(super) fn read(tree: &Tree) -> io::Result<WorkspaceMetadata> {
    let fresh = || WorkspaceMetadata::new(Timestamp::now());
    let (file, _) = match tree.open(&path(METADATA)?) {
        Ok(opened) => opened,
        // Links are not followed, and what is no file cannot be read. Writing will tell.
        Err(_) => return Ok(fresh()),
    };
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text)?;
    let mut record: WorkspaceMetadata = serde_json::from_slice(&text).unwrap_or_else(|_| fresh());
    record.version = WorkspaceMetadata::VERSION;
    Ok(record)
}

/// Changes the record. Two callers of this process never do that at the same time.
pub(super) async fn change(
    kept: &KeptWorkspace,
    change: impl FnOnce(&mut WorkspaceMetadata) + Send + 'static,
) -> Result<(), WorkspaceError> {
    // One of many, so that different workspaces rarely wait for each other.
    static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let mut hasher = std::hash::DefaultHasher::new();
    kept.name().hash(&mut hasher);
    let lock = &LOCKS[usize::try_from(hasher.finish() % LOCKS.len() as u64).unwrap_or(0)];
    let changed = kept.with(move |tree| {
        let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _among_processes = tree.lock(PATIENCE);
        let now = Timestamp::now();
        let mut record = read(tree)?;
        change(&mut record);
        (record.updated_at, record.last_access) = (now, now);
        write(tree, &record)
    });
    changed.await.map_err(WorkspaceError::io("record in", METADATA))
}
