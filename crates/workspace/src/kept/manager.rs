//! Making and removing workspaces.

use std::io;

use belljar_runtime::WorkspaceName;
use tracing::Instrument;

use super::naming::{fresh_name_for, name_for};
use super::{Inner, policy, record};
use crate::layout::DIRECTORIES;
use crate::{BoxFuture, Context, Workspace, WorkspaceError, WorkspaceManager, WorkspacePolicy, telemetry};

impl WorkspaceManager for Inner {
    fn create_workspace<'a>(
        &'a self,
        ctx: &'a Context,
        exec_id: &'a str,
        policy: WorkspacePolicy,
    ) -> BoxFuture<'a, Result<Workspace, WorkspaceError>> {
        let span = tracing::info_span!(telemetry::SPAN_CREATE, { telemetry::EXEC_ID } = exec_id);
        Box::pin(
            async move {
                ctx.check()?;
                if policy.isolated && self.capabilities.isolation == "none" {
                    return Err(WorkspaceError::Limit { what: "isolation", engine: self.engine.to_owned() });
                }
                if policy.persist && exec_id.is_empty() {
                    return Err(WorkspaceError::NotFound {
                        what: "an id for the workspace",
                        name: String::new(),
                    });
                }
                // One that stays is found again by its id. Any other is like no other.
                let name = if policy.persist { name_for(exec_id) } else { fresh_name_for(exec_id) };
                ctx.run(self.make(exec_id.to_owned(), name, policy)).await?
            }
            .instrument(span),
        )
    }

    fn cleanup<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        let span = tracing::info_span!(telemetry::SPAN_CLEANUP, { telemetry::PATH } = ws.path);
        Box::pin(
            async move {
                ctx.check()?;
                if ws.path.is_empty() {
                    return Ok(());
                }
                let name = self.name_of(ws)?;
                match self.policy_of(&name).await?.persist {
                    true => Ok(()),
                    false => self.remove(name).await,
                }
            }
            .instrument(span),
        )
    }
}

impl Inner {
    /// Makes a workspace with its usual directories, or finds the one that is there.
    pub(super) async fn make(
        &self,
        id: String,
        name: WorkspaceName,
        policy: WorkspacePolicy,
    ) -> Result<Workspace, WorkspaceError> {
        let (store, made) = (self.store.clone(), name.clone());
        let kept = policy::Kept { id: id.clone(), policy };
        let path = self.store.path().join(name.as_str());
        let work = move || match store.create(&made, |tree| {
            for directory in DIRECTORIES {
                tree.make_directory(&super::put::path(directory)?)?;
            }
            record::begin(tree)
        }) {
            Ok(_) => policy::save(&store, &made, &kept),
            // Whoever made it may be about to say what it was made with.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && kept.policy.persist => {
                policy::save_first(&store, &made, &kept)
            }
            Err(error) => Err(error),
        };
        blocking(work).await.map_err(WorkspaceError::io("create", path))?;
        Ok(self.workspace(&id, &name))
    }

    /// Removes a workspace, whatever is in it. Its programs are killed first.
    pub(super) async fn remove(&self, name: WorkspaceName) -> Result<(), WorkspaceError> {
        self.uses.end_all(&name).await;
        let store = self.store.clone();
        let path = self.store.path().join(name.as_str());
        let work = move || {
            store.remove(&name)?;
            policy::forget(&store, &name);
            Ok(())
        };
        blocking(work).await.map_err(WorkspaceError::io("remove", path))
    }
}

/// Does blocking work where it holds up nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    belljar_engine::on_a_thread("belljar-ws", work).await?
}
