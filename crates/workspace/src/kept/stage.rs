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
        let is_read_only = spec.options.read_only;
        if to.is_none() && is_read_only {
            let (what, engine) = ("a workspace that may only be read", self.engine.to_owned());
            return Err(WorkspaceError::Unsupported { what, engine });
        }
        let kept = self.kept(ws)?;
        let source = open(&spec.source)?;
        let name = spec.source.display().to_string();
        // Counting takes long, and is for nothing where there is no limit.
        if self.room_of(&kept).await? > 0 {
            let source = open(&spec.source)?;
            let added = super::manager::blocking(move || super::disk::size_of(&source)).await;
            self.check_room(ws, &kept, added.map_err(of_file("read", &name))?).await?;
        }
        kept.copy_from(source, to.clone()).await.map_err(of_file("stage", &name))?;
        match to {
            Some(to) if is_read_only => {
                let closed = kept.with(move |tree| tree.make_read_only(&to)).await;
                closed.map_err(of_file("close", &name))
            }
            _ => Ok(()),
        }
    }
}

/// A directory of the host that the caller names.
pub(super) fn open(path: &Path) -> Result<Tree, WorkspaceError> {
    belljar_engine::open_tree(path).map_err(WorkspaceError::io("open", path))
}
