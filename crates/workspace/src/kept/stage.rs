//! Directories of the host into a workspace.

use std::path::Path;

use belljar_engine::Tree;

use super::put::asked;
use super::{Inner, of_file};
use crate::{DirectorySpec, Workspace, WorkspaceError};

impl Inner {
    /// Copies what is in a directory. Links in it that lead out of it are refused.
    pub(super) async fn stage(&self, ws: &Workspace, spec: DirectorySpec) -> Result<(), WorkspaceError> {
        if spec.source.as_os_str().is_empty() {
            return Err(WorkspaceError::EmptyPath);
        }
        let to = match spec.to.trim_matches('/') {
            "" | "." => None,
            text => Some(asked(text)?),
        };
        let kept = self.kept(ws)?;
        let source = open(&spec.source)?;
        let room = {
            let limit = self.room_of(ws);
            (limit > 0).then_some(limit)
        };
        let name = spec.source.display().to_string();
        if room.is_some() {
            let source = open(&spec.source)?;
            let added = super::manager::blocking(move || super::disk::usage(&source)).await;
            self.check_room(ws, &kept, added.map_err(of_file("read", &name))?).await?;
        }
        let is_read_only = spec.options.read_only;
        let staged = kept.with(move |tree| {
            tree.copy_from(&source, to.as_ref())?;
            match (&to, is_read_only) {
                (Some(to), true) => tree.make_read_only(to),
                _ => Ok(()),
            }
        });
        staged.await.map_err(of_file("stage", &name))
    }
}

/// A directory of the host that the caller names.
pub(super) fn open(path: &Path) -> Result<Tree, WorkspaceError> {
    belljar_engine::open_tree(path).map_err(WorkspaceError::io("open", path))
}
