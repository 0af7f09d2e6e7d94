//! Workspaces that are used again, by the ids that callers know.
//!
//! A registry remembers which workspace an id has. The first call for an id makes one, calls at the
//! same time wait for that, later calls get it. An id is of one manager: two managers never share a
//! workspace.
//!
//! ```text
//!              acquire: make                     acquire: make again, its instance has changed
//!   (nothing) ───────────────► Making ──► Ready ─────────────────────────────────────► Making
//!       ▲                        │ failed   │ release, or evicted
//!       ├────────────────────────┘          ▼
//!       └──────────────────────────────  Removing
//! ```
//!
//! Making and removing are done by tasks of their own. A caller that gives up leaves them to those
//! who still wait, and to the next caller. So these methods need a tokio runtime.

mod entry;
mod table;
mod tasks;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{Context, Workspace, WorkspaceError, WorkspaceManager, WorkspacePolicy};
use entry::{Entry, Key};
use table::{Step, Table};

pub use entry::WorkspaceHandle;

/// How long and how many workspaces are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RegistryOptions {
    /// How many workspaces there may be. When one more is wanted, the one that was not acquired for
    /// the longest time is removed. If all are [held](WorkspaceHandle), the call is refused. `None`
    /// is any number.
    pub max_workspaces: Option<usize>,
    /// After how long a workspace is removed that nobody acquires or [holds](WorkspaceHandle).
    /// `None` is never.
    pub idle_timeout: Option<Duration>,
    /// The policy of workspaces that are made.
    pub policy: WorkspacePolicy,
}

/// Workspaces by manager and id. A clone is the same registry.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceRegistry {
    table: Arc<Table>,
}

impl WorkspaceRegistry {
    /// A registry that keeps everything until it is released.
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry that keeps only so much.
    pub fn with_options(options: RegistryOptions) -> Self {
        Self { table: Arc::new(Table::new(options)) }
    }

    /// The workspace of that id. It is made if there is none. It is not protected from eviction;
    /// [`WorkspaceRegistry::acquire_handle`] does that.
    pub async fn acquire(
        &self,
        ctx: &Context,
        manager: &Arc<dyn WorkspaceManager>,
        id: &str,
    ) -> Result<Workspace, WorkspaceError> {
        Ok(self.acquire_handle(ctx, manager, id).await?.workspace().clone())
    }

    /// The workspace of that id, which is kept as long as somebody has a handle. It is made if
    /// there is none, and made again if the instance that it was in is another now.
    pub async fn acquire_handle(
        &self,
        ctx: &Context,
        manager: &Arc<dyn WorkspaceManager>,
        id: &str,
    ) -> Result<WorkspaceHandle, WorkspaceError> {
        let key = Key::new(manager, id);
        let mut confirmed = None;
        loop {
            ctx.check()?;
            match self.table.step(ctx, &key, confirmed.take(), Instant::now())? {
                Step::Ready(handle) => return Ok(handle),
                Step::Confirm(entry) => {
                    let instance = ctx.run(instance(ctx, manager, id)).await??;
                    confirmed = Some((entry, instance));
                }
                // Nothing holds it yet, so it may be gone again already.
                Step::Made(mut made) => {
                    let entry = made.wait(ctx, "make a workspace").await?;
                    let instance = entry.instance.clone();
                    confirmed = Some((entry, instance));
                }
                Step::Removed(mut removed) => {
                    // Why it could not be removed is told to whoever wanted that.
                    if let Err(error) = removed.wait(ctx, "remove a workspace").await {
                        ctx.check()?;
                        tracing::debug!(%error, "a workspace that is wanted again was not removed");
                    }
                }
            }
        }
    }

    /// Forgets the workspace of a handle, if the registry still has that very one, and says whether
    /// it did. The workspace itself stays: it is for one that is gone already.
    pub fn invalidate(&self, handle: &WorkspaceHandle) -> bool {
        self.table.forget(handle.entry())
    }

    /// Removes the workspace of a handle, if the registry still has that very one, and says whether
    /// it did. Who acquires the same id meanwhile gets a new one after that. If it cannot be
    /// removed it is forgotten all the same.
    pub async fn release(&self, ctx: &Context, handle: &WorkspaceHandle) -> Result<bool, WorkspaceError> {
        match self.table.retire(ctx, handle.entry())? {
            Some(mut removed) => removed.wait(ctx, "remove a workspace").await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Removes the workspaces that were idle for too long, and says how many. That also happens
    /// whenever a workspace is made. The first failure is told when all were tried.
    pub async fn evict_idle(&self, ctx: &Context) -> Result<usize, WorkspaceError> {
        wait_for_each(ctx, self.table.retire_idle(ctx)?).await
    }

    /// Removes the workspace of an id unless somebody [holds](WorkspaceHandle) it, and says whether
    /// it did.
    pub async fn remove(
        &self,
        ctx: &Context,
        manager: &Arc<dyn WorkspaceManager>,
        id: &str,
    ) -> Result<bool, WorkspaceError> {
        let key = Key::new(manager, id);
        let removed = wait_for_each(ctx, self.table.retire_each(ctx, |other| *other == key)?).await?;
        Ok(removed > 0)
    }

    /// Removes all workspaces of a manager that nobody [holds](WorkspaceHandle), and says how many.
    /// The first failure is told when all were tried.
    pub async fn clear(
        &self,
        ctx: &Context,
        manager: &Arc<dyn WorkspaceManager>,
    ) -> Result<usize, WorkspaceError> {
        let any = Key::new(manager, "");
        wait_for_each(ctx, self.table.retire_each(ctx, |other| other.is_of_the_same_manager(&any))?).await
    }

    /// How many workspaces it has.
    pub fn len(&self) -> usize {
        self.table.count()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Waits until all are removed, and says how many there were.
async fn wait_for_each(ctx: &Context, all: Vec<tasks::Waiting<()>>) -> Result<usize, WorkspaceError> {
    let mut failed = Ok(());
    let count = all.len();
    for mut removed in all {
        failed = failed.and(removed.wait(ctx, "remove a workspace").await);
    }
    failed.map(|()| count)
}

/// The instance that a manager's workspaces are in.
async fn instance(
    ctx: &Context,
    manager: &Arc<dyn WorkspaceManager>,
    id: &str,
) -> Result<Option<String>, WorkspaceError> {
    let instance = manager.instance_id(ctx).await?;
    if instance.as_deref() == Some("") {
        return Err(WorkspaceError::NoInstance { id: id.to_owned() });
    }
    Ok(instance)
}

#[cfg(test)]
mod tests;
