//! What a workspace was made with. It is beside the workspaces, where no program reaches it.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use belljar_engine::kept::Store;
use belljar_runtime::WorkspaceName;
use serde::{Deserialize, Serialize};

use super::Inner;
use super::manager::blocking;
use crate::{WorkspaceError, WorkspacePolicy};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What its creator calls it.
    pub(super) id: String,
    #[serde(default)]
    pub(super) policy: WorkspacePolicy,
}

fn file(store: &Store, name: &WorkspaceName) -> PathBuf {
    // No workspace has such a name, so it is none.
    store.path().join(format!(".policy-{name}.json"))
}

/// Remembers what a workspace was made with.
pub(super) fn save(store: &Store, name: &WorkspaceName, kept: &Kept) -> io::Result<()> {
    let temporary = temporary(store, name, kept)?;
    std::fs::rename(&temporary, file(store, name))
}

/// The same, unless something is remembered already.
pub(super) fn save_first(store: &Store, name: &WorkspaceName, kept: &Kept) -> io::Result<()> {
    if file(store, name).exists() {
        return Ok(());
    }
    let temporary = temporary(store, name, kept)?;
    let linked = std::fs::hard_link(&temporary, file(store, name));
    std::fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn temporary(store: &Store, name: &WorkspaceName, kept: &Kept) -> io::Result<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = store.path().join(format!(".policy-{name}.{}-{number}.tmp", std::process::id()));
    std::fs::write(&path, serde_json::to_vec(kept)?)?;
    Ok(path)
}

/// What is known. Without a record it is nothing special. Blocks.
pub(super) fn load(store: &Store, name: &WorkspaceName) -> Kept {
    let read = std::fs::read(file(store, name)).ok();
    let found = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    found.unwrap_or_else(|| Kept { id: name.to_string(), policy: WorkspacePolicy::default() })
}

pub(super) fn forget(store: &Store, name: &WorkspaceName) {
    let _ = std::fs::remove_file(file(store, name));
}

/// Policies that were read, each with the file that it was read from.
#[derive(Default)]
pub(super) struct Remembered(Mutex<HashMap<WorkspaceName, (Stamp, WorkspacePolicy)>>);

/// Which file it is. A policy is never changed in its file: another takes its place.
type Stamp = (u64, i64, i64);

impl Remembered {
    /// How many are remembered.
    const MOST: usize = 1024;

    fn get(&self, name: &WorkspaceName, stamp: Stamp) -> Option<WorkspacePolicy> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(name).filter(|(of, _)| *of == stamp).map(|(_, policy)| *policy)
    }

    fn put(&self, name: &WorkspaceName, stamp: Stamp, policy: &WorkspacePolicy) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= Self::MOST {
            all.clear();
        }
        all.insert(name.clone(), (stamp, *policy));
    }
}

impl Inner {
    /// The policy of a workspace, read where that holds up nobody. It is looked at each time,
    /// because another process may have changed it, and read if it has.
    pub(super) async fn policy_of(&self, name: &WorkspaceName) -> Result<WorkspacePolicy, WorkspaceError> {
        let found = std::fs::metadata(file(&self.store, name)).ok();
        let stamp = found.map(|found| (found.ino(), found.mtime(), found.mtime_nsec()));
        if let Some(policy) = stamp.and_then(|stamp| self.policies.get(name, stamp)) {
            return Ok(policy);
        }
        let (store, of) = (self.store.clone(), name.clone());
        let read = blocking(move || Ok(load(&store, &of).policy)).await;
        let policy = read.map_err(WorkspaceError::io("read", file(&self.store, name)))?;
        if let Some(stamp) = stamp {
            self.policies.put(name, stamp, &policy);
        }
        Ok(policy)
    }
}
