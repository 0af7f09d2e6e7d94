//! The workspace in which the blocks of one call run, and what is left of the call there: nothing.

use std::sync::Arc;
use std::time::Duration;

use super::Inner;
use crate::layout::INLINE_SOURCES;
use crate::{
    Context, RunProgramSpec, Workspace, WorkspaceEngine, WorkspaceError, WorkspaceHandle, WorkspacePolicy,
    WorkspaceRegistry,
};

/// How long tidying up may take.
const TIDY_WITHIN: Duration = Duration::from_secs(60);

/// Where the blocks of one call run. It is tidied up when it is left, or dropped.
pub(super) struct Place {
    /// `None` once it is left.
    kept: Option<Kept>,
    workspace: Workspace,
    /// The directory of this call's sources, below that of all sources.
    sources: String,
}

struct Kept {
    engine: Arc<dyn WorkspaceEngine>,
    /// `None` for a workspace that nobody uses again.
    shared: Option<(WorkspaceRegistry, WorkspaceHandle)>,
}

impl Place {
    /// The workspace of an execution id, or a fresh one if the id is empty.
    pub(super) async fn enter(ctx: &Context, inner: &Inner, id: &str) -> Result<Self, WorkspaceError> {
        let (engine, manager) = (Arc::clone(&inner.engine), inner.engine.manager());
        let unique = belljar_core::random_hex();
        let (workspace, shared) = if id.is_empty() {
            let policy = WorkspacePolicy { persist: false, ..inner.options.policy };
            let id = format!("blocks-{unique}");
            (manager.create_workspace(ctx, &id, policy).await?, None)
        } else {
            let handle = inner.registry.acquire_handle(ctx, &manager, id).await?;
            (handle.workspace().clone(), Some((inner.registry.clone(), handle)))
        };
        Ok(Self { kept: Some(Kept { engine, shared }), workspace, sources: format!(".exec-{unique}") })
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Whether nothing was in it before this call.
    pub(super) fn is_fresh(&self) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.shared.is_none())
    }

    /// The directory for a block's own files, below that of all sources.
    pub(super) fn directory_of(&self, index: usize) -> String {
        format!("{}/{index}", self.sources)
    }

    /// Tidies up. A workspace that turned out to be gone is forgotten, so that the next call for
    /// its id gets another.
    pub(super) async fn leave(mut self, failed_with: Option<&WorkspaceError>) {
        let Some(kept) = self.kept.take() else { return };
        if failed_with.is_some_and(is_gone)
            && let Some((registry, handle)) = &kept.shared
        {
            registry.invalidate(handle);
            return;
        }
        kept.tidy(&self.workspace, &self.sources).await;
    }
}

fn is_gone(error: &WorkspaceError) -> bool {
    error.is_worth_a_new_workspace()
        || matches!(error.original(), WorkspaceError::NotFound { what: "workspace", .. })
}

impl Kept {
    /// The caller may have given up, so this does not depend on its context.
    async fn tidy(self, workspace: &Workspace, sources: &str) {
        let ctx = Context::new().with_timeout(TIDY_WITHIN);
        let tidied = match &self.shared {
            None => self.engine.manager().cleanup(&ctx, workspace).await,
            Some(_) => {
                let sources = format!("{INLINE_SOURCES}/{sources}");
                let spec = RunProgramSpec::new("rm", ["-rf", "--", &sources]);
                self.engine.runner().run_program(&ctx, workspace, spec).await.map(drop)
            }
        };
        if let Err(error) = tidied {
            tracing::warn!(%error, path = workspace.path, "sources of code blocks are left over");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (Some(kept), Ok(runtime)) = (self.kept.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (workspace, sources) = (std::mem::take(&mut self.workspace), std::mem::take(&mut self.sources));
        runtime.spawn(async move { kept.tidy(&workspace, &sources).await });
    }
}
