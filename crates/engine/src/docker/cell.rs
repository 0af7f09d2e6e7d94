//! One container, as its cell holds it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::DockerError;
use super::attach::Attached;
use super::container::SUPERVISOR_BYTES;
use super::daemon::Daemon;
use super::remover::Remover;
use super::sidecar::CellProxy;
use crate::engine::BoxFuture;
use crate::supervised::{Container, ContainerEgress, SupervisedCell};
use crate::timeout;

/// How long the daemon may take to say how a container ended.
const ASKED_WITHIN: Duration = Duration::from_secs(5);

/// A cell in a container.
pub(super) type DockerCell = SupervisedCell<DockerContainer, Attached>;

/// The containers of a template that are not removed yet.
pub(super) type Living = Arc<Mutex<HashSet<String>>>;

/// One container. It is killed and removed when it is dropped.
pub(super) struct DockerContainer {
    id: String,
    daemon: Daemon,
    egress: Option<CellProxy>,
    remover: Remover,
    living: Living,
}

impl DockerContainer {
    /// Takes charge of a container that exists.
    pub(super) fn new(id: String, daemon: Daemon, remover: Remover, living: Living) -> Self {
        living.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        Self { id, daemon, egress: None, remover, living }
    }

    /// Connects the container to the proxy, which reaches the hosts its config allows.
    pub(super) fn open_egress(&mut self, egress: CellProxy) {
        self.egress = Some(egress);
    }
}

impl Container for DockerContainer {
    fn name(&self) -> &str {
        &self.id
    }

    fn kill(&mut self) {
        self.remover.kill(self.id.clone());
    }

    fn was_killed_for_memory(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let (daemon, id) = (self.daemon.clone(), self.id.clone());
            // In the background, because the connection to the daemon stays where it is made.
            let asked =
                self.remover.handle().spawn(async move { daemon.api.inspect_container(&id, None).await });
            let answer = timeout(ASKED_WITHIN, asked).await.ok().and_then(Result::ok);
            let state = answer.and_then(Result::ok).and_then(|container| container.state);
            state.and_then(|state| state.oom_killed) == Some(true)
        })
    }

    fn egress(&mut self) -> Option<&mut dyn ContainerEgress> {
        self.egress.as_mut().map(|egress| egress as &mut dyn ContainerEgress)
    }

    fn supervisor_bytes(&self) -> u64 {
        SUPERVISOR_BYTES.unsigned_abs()
    }
}

impl Drop for DockerContainer {
    fn drop(&mut self) {
        self.living.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.remover.remove(std::mem::take(&mut self.id));
    }
}

/// The error for a cell that did not become ready, with what its container wrote.
pub(super) fn not_ready(cell: &mut DockerCell, image: &str, reason: String) -> DockerError {
    DockerError::NotReady {
        container: cell.container().name().chars().take(12).collect(),
        image: image.to_owned(),
        reason,
        log: cell.last_words(),
    }
}
