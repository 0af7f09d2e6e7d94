//! Making and removing workspaces, apart from the callers that wait for it.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::table::Table;
use super::{Entry, Key, instance};
use crate::{BoxFuture, Context, WorkspaceError, WorkspacePolicy};

type Outcome<T> = Option<Result<T, Arc<WorkspaceError>>>;

/// What a task will have to say.
#[derive(Debug, Clone)]
pub(super) struct Waiting<T>(watch::Receiver<Outcome<T>>);

impl<T: Clone> Waiting<T> {
    /// Waits for it, at most as long as the context lives.
    pub(super) async fn wait(&mut self, ctx: &Context, doing: &'static str) -> Result<T, WorkspaceError> {
        let said = ctx.run(self.0.wait_for(Option::is_some)).await?;
        match said.as_deref() {
            Ok(Some(outcome)) => outcome.clone().map_err(WorkspaceError::Shared),
            _ => Err(WorkspaceError::Abandoned { doing }),
        }
    }
}

/// Tasks that begin once the table is unlocked: a runtime that is shut down drops a task at once,
/// and then the task wants the table.
pub(super) struct Tasks {
    runtime: Handle,
    waiting: Vec<BoxFuture<'static, ()>>,
}

impl Tasks {
    /// Fails outside of a tokio runtime.
    pub(super) fn new() -> Result<Self, WorkspaceError> {
        let runtime = Handle::try_current().map_err(|_| WorkspaceError::NoRuntime)?;
        Ok(Self { runtime, waiting: Vec::new() })
    }

    /// Begins what was added. The table must not be locked.
    pub(super) fn begin(self) {
        for task in self.waiting {
            self.runtime.spawn(task);
        }
    }

    /// Adds that a workspace is made and put into the table.
    pub(super) fn make(
        &mut self,
        table: &Arc<Table>,
        ctx: &Context,
        key: Key,
        policy: WorkspacePolicy,
    ) -> Waiting<Arc<Entry>> {
        let (sender, receiver) = watch::channel(None);
        let mut making = Making { table: Arc::clone(table), key, is_over: false };
        let ctx = ctx.detached();
        self.waiting.push(Box::pin(async move {
            let made = create(&ctx, &making.key, policy).await;
            sender.send_replace(Some(making.end(made).map_err(Arc::new)));
        }));
        Waiting(receiver)
    }

    /// Adds that a workspace is removed, and then its slot from the table.
    pub(super) fn remove(&mut self, table: &Arc<Table>, ctx: &Context, entry: Arc<Entry>) -> Waiting<()> {
        let (sender, receiver) = watch::channel(None);
        let removing = Removing { table: Arc::clone(table), entry: Arc::clone(&entry) };
        let ctx = ctx.detached();
        self.waiting.push(Box::pin(async move {
            let removed = entry.key.manager.cleanup(&ctx, &entry.workspace).await;
            if let Err(error) = &removed {
                tracing::warn!(id = entry.key.id, %error, "a workspace could not be removed");
            }
            drop(removing);
            sender.send_replace(Some(removed.map_err(Arc::new)));
        }));
        Waiting(receiver)
    }
}

async fn create(ctx: &Context, key: &Key, policy: WorkspacePolicy) -> Result<Entry, WorkspaceError> {
    let Key { manager, id } = key;
    let before = instance(ctx, manager, id).await?;
    let workspace = manager.create_workspace(ctx, id, policy).await?;
    let after = instance(ctx, manager, id).await?;
    if before != after {
        // It is gone with the instance, or in one that nobody knows. There is nothing to clean up.
        let reason = "its instance was replaced while it was made".to_owned();
        return Err(WorkspaceError::Stale { id: id.clone(), reason });
    }
    Ok(Entry { key: key.clone(), workspace, instance: after })
}

/// A slot in which a workspace is made. It ends also if the task panics or is dropped.
struct Making {
    table: Arc<Table>,
    key: Key,
    is_over: bool,
}

impl Making {
    fn end(&mut self, made: Result<Entry, WorkspaceError>) -> Result<Arc<Entry>, WorkspaceError> {
        self.is_over = true;
        match made {
            Ok(entry) => Ok(self.table.made(entry)),
            Err(error) => {
                self.table.not_made(&self.key);
                Err(error)
            }
        }
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.is_over {
            self.table.not_made(&self.key);
        }
    }
}

/// A slot whose workspace is removed. It ends also if the task panics or is dropped.
struct Removing {
    table: Arc<Table>,
    entry: Arc<Entry>,
}

impl Drop for Removing {
    fn drop(&mut self) {
        self.table.removed(&self.entry.key);
    }
}
