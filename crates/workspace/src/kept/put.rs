//! Files into a workspace.

use std::io::{self, Write};

use belljar_core::{GuestPath, GuestPathError};

use super::Inner;
use crate::{PutFile, Workspace, WorkspaceError};

/// A path below the workspace, for code that names it itself.
pub(super) fn path(text: &str) -> io::Result<GuestPath> {
    GuestPath::new(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// A path that a caller names. An absolute one is one below the workspace.
pub(super) fn asked(text: &str) -> Result<GuestPath, WorkspaceError> {
    let relative = text.trim_start_matches('/');
    GuestPath::new(relative).map_err(|error| match error {
        GuestPathError::Empty { .. } => WorkspaceError::EmptyPath,
        GuestPathError::Parent { .. } => WorkspaceError::Escapes { path: text.to_owned() },
        error => WorkspaceError::Io {
            doing: "use",
            path: text.into(),
            source: io::Error::new(io::ErrorKind::InvalidInput, error),
        },
    })
}

impl Inner {
    /// Writes files, in order. Each takes the place of what was there when it is whole.
    pub(super) async fn put(&self, ws: &Workspace, files: Vec<PutFile>) -> Result<(), WorkspaceError> {
        let paths = files.iter().map(|file| asked(&file.path)).collect::<Result<Vec<_>, _>>()?;
        let added = files.iter().map(|file| file.content.len() as u64).sum();
        let kept = self.kept(ws)?;
        self.check_room(ws, &kept, added).await?;
        for (file, path) in files.into_iter().zip(paths) {
            let mode = file.effective_mode();
            let named = path.clone();
            let written =
                kept.with(move |tree| tree.replace(&path, mode, &mut |into| into.write_all(&file.content)));
            written.await.map_err(super::of_file("write", named.as_str()))?;
        }
        Ok(())
    }
}
