//! Making and removing workspaces.

use super::BoxFuture;
use crate::{Context, Workspace, WorkspaceError, WorkspacePolicy};

/// Makes and removes workspaces.
pub trait WorkspaceManager: Send + Sync {
    /// Makes a workspace, or returns the one that this id has where an engine keeps them. The id is
    /// any text that is not empty, also `app/user/session`. A policy that cannot be kept is
    /// refused.
    fn create_workspace<'a>(
        &'a self,
        ctx: &'a Context,
        exec_id: &'a str,
        policy: WorkspacePolicy,
    ) -> BoxFuture<'a, Result<Workspace, WorkspaceError>>;

    /// Removes a workspace, unless its policy is to keep it. One that is gone is no error.
    fn cleanup<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>>;

    /// Which instance of its surroundings the workspaces are in, for example which container. When
    /// that changes, they are gone. `None` if they depend on no such thing.
    fn instance_id<'a>(&'a self, ctx: &'a Context) -> BoxFuture<'a, Result<Option<String>, WorkspaceError>> {
        let _ = ctx;
        Box::pin(async { Ok(None) })
    }
}
