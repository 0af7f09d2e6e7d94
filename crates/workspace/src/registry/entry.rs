//! A workspace that a registry has.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::{Workspace, WorkspaceManager};

/// What a workspace is known by: its manager, which is the same only if it is the same object, and
/// the caller's id. The manager lives as long as the key, so no other can come to be in its place.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) manager: Arc<dyn WorkspaceManager>,
    pub(super) id: String,
}

impl Key {
    pub(super) fn new(manager: &Arc<dyn WorkspaceManager>, id: &str) -> Self {
        Self { manager: Arc::clone(manager), id: id.to_owned() }
    }

    pub(super) fn is_of_the_same_manager(&self, other: &Self) -> bool {
        std::ptr::eq(self.address(), other.address())
    }

    /// Where the manager is.
    fn address(&self) -> *const () {
        Arc::as_ptr(&self.manager).cast()
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.is_of_the_same_manager(other) && self.id == other.id
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
        self.id.hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)
    }
}

/// One workspace. It is this very object: another for the same id is another entry.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) workspace: Workspace,
    /// The instance that it was made in.
    pub(super) instance: Option<String>,
}

/// The right to use a workspace. While somebody has one, or a clone of it, the workspace is not
/// evicted.
#[derive(Clone)]
pub struct WorkspaceHandle {
    entry: Arc<Entry>,
    /// The registry has one too, and counts.
    _held: Arc<()>,
}

impl WorkspaceHandle {
    pub(super) fn new(entry: &Arc<Entry>, held: &Arc<()>) -> Self {
        Self { entry: Arc::clone(entry), _held: Arc::clone(held) }
    }

    /// The workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.entry.workspace
    }

    /// The instance that it was made in, if its manager tells instances apart.
    pub fn instance(&self) -> Option<&str> {
        self.entry.instance.as_deref()
    }

    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }
}

impl fmt::Debug for WorkspaceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkspaceHandle").field("workspace", self.workspace()).finish_non_exhaustive()
    }
}
