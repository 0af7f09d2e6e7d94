//! Workspaces that are gone when what they are for is over, however it ends.

use std::any::Any;
use std::time::{Duration, SystemTime};

use belljar::engine::random_hex;
use belljar::workspace::{OpenWorkspace, Workspaces};

use super::program::failed;
use crate::problem::Problem;

/// A workspace that is removed when this is dropped. Until then no other process removes it.
pub(super) struct Passing(Option<(OpenWorkspace, Box<dyn Any + Send + Sync>)>);

impl Passing {
    pub(super) fn new(workspace: OpenWorkspace) -> Result<Self, Problem> {
        let held = Box::new(workspace.hold().map_err(failed)?);
        Ok(Self(Some((workspace, held))))
    }

    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn get(&self) -> &OpenWorkspace {
        &self.0.as_ref().expect("it is taken only when this ends").0
    }

    /// A second one of the same content.
    pub(super) async fn copy(&self) -> Result<Self, Problem> {
        Self::new(self.get().fork(&fresh_name()).await.map_err(failed)?)
    }

    /// Removes it now. Whoever does not wait for that just drops it.
    pub(super) async fn remove(mut self) {
        if let Some((workspace, held)) = self.0.take() {
            drop(held);
            remove(workspace).await;
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let Some((workspace, held)) = self.0.take() else { return };
        drop(held);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(remove(workspace));
    }
}

async fn remove(workspace: OpenWorkspace) {
    if let Err(error) = workspace.remove().await {
        tracing::warn!(%error, "a program's workspace is left over");
    }
}

pub(super) fn fresh_name() -> String {
    format!("grade-{}", random_hex())
}

/// Removes what a server that was killed has left. Another's are not that old, or in use.
pub(super) async fn sweep(workspaces: &Workspaces) {
    const OLD: Duration = Duration::from_secs(60);
    for (name, _) in workspaces.list().unwrap_or_default() {
        let Ok(workspace) = workspaces.find(&name) else { continue };
        let made = std::fs::metadata(&workspace.workspace().path).and_then(|found| found.modified());
        let age = made.ok().and_then(|made| SystemTime::now().duration_since(made).ok());
        if age.is_some_and(|age| age > OLD) {
            remove(workspace).await;
        }
    }
}
