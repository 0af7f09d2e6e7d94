//! What a workspace was made with. It is beside the workspaces, where no program reaches it.

use std::io;
use std::path::PathBuf;

use belljar_engine::kept::Store;
use belljar_runtime::WorkspaceName;
use serde::{Deserialize, Serialize};

use crate::WorkspacePolicy;

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

pub(super) fn save(store: &Store, name: &WorkspaceName, kept: &Kept) -> io::Result<()> {
    let temporary = store.path().join(format!(".policy-{name}.{}.tmp", std::process::id()));
    std::fs::write(&temporary, serde_json::to_vec(kept)?)?;
    std::fs::rename(&temporary, file(store, name))
}

/// What is known. Without a record it is nothing special.
pub(super) fn load(store: &Store, name: &WorkspaceName) -> Kept {
    let read = std::fs::read(file(store, name)).ok();
    let found = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    found.unwrap_or_else(|| Kept { id: name.to_string(), policy: WorkspacePolicy::default() })
}

pub(super) fn forget(store: &Store, name: &WorkspaceName) {
    let _ = std::fs::remove_file(file(store, name));
}
