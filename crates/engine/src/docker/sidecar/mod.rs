//! The proxy beside the containers of one config.
//!
//! ```text
//!   cell (no network)                proxy (its own container, the only one with a network)
//!   PID 1 makes a listener on lo ──► a door of its own, in a volume of this config alone
//!      the listener (SCM_RIGHTS)     accepts on the cell's loopback, with the config's policy
//!                                    decisions ──stdout──► engine ──► ExecutionResult.network
//! ```
//!
//! On a shared bridge, `internal` or not, containers of one config could talk to each other, and to
//! every port of the daemon's host that listens on all addresses. Here they have no interface to do
//! that with. The listener shows which cell asks.
//!
//! Whoever connects to a listener has made a socket. A container in which a socket was made is
//! never used again. So whatever a use has left with the proxy, or in a listener's queue, ends with
//! its container.
//!
//! When a proxy dies, its listeners die with it, so nobody can get out. Another proxy is started,
//! and each cell is introduced to it before the cell's next run.

mod door;
mod entry;
mod image;
mod manager;
mod program;
mod protocol;
mod server;
mod setup;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::Decision;
use belljar_core::layout::EGRESS;

use self::manager::Manager;
use self::setup::Setup;
use super::daemon::Daemon;
use super::labels::Controller;
use super::remover::Remover;
use super::{Docker, DockerError};
use crate::engine::{Blueprint, BoxFuture};
use crate::supervised::{ContainerEgress, Introduction};
use crate::{EngineError, Progress};

/// How long the next proxy may take until it serves.
const THERE_WITHIN: Duration = Duration::from_secs(30);
/// How long it may take to answer a question.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// What a proxy is started from.
pub(super) struct SidecarSettings<'a> {
    pub(super) daemon: &'a Daemon,
    pub(super) controller: &'a Controller,
    pub(super) remover: &'a Remover,
    pub(super) blueprint: &'a Blueprint,
    pub(super) settings: &'a Docker,
}

/// The proxy of one config. It is kept running as long as this is held.
pub(super) struct Sidecar {
    manager: Arc<Manager>,
}

/// A cell that the proxy expects.
pub(super) struct Admitted {
    pub(super) token: String,
    pub(super) egress: CellProxy,
}

impl Sidecar {
    /// Starts it and waits until it listens.
    pub(super) async fn start(
        settings: SidecarSettings<'_>,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self, EngineError> {
        let image =
            image::ensure(settings.daemon, settings.settings.proxy_program.as_deref(), progress).await?;
        let manager = Manager::start(Setup::new(&settings, image)).await?;
        Ok(Self { manager })
    }

    /// The certificate authority, as PEM, that programs in the cells must trust. `None` unless the
    /// policy terminates TLS for a host.
    pub(super) fn authority(&self) -> Option<String> {
        self.manager.authority()
    }

    /// The volume that holds its sockets.
    pub(super) fn volume(&self) -> &str {
        self.manager.volume()
    }

    /// Announces a cell.
    pub(super) async fn expect_cell(&self) -> Result<Admitted, DockerError> {
        let (cell, token, generation) = self.manager.expect(None).await?;
        let egress = CellProxy { manager: Arc::clone(&self.manager), cell, generation };
        Ok(Admitted { token, egress })
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        self.manager.stop();
    }
}

/// One cell's access to the network, as the engine sees it.
pub(super) struct CellProxy {
    manager: Arc<Manager>,
    cell: u64,
    /// The number of the proxy that holds the cell's listener. Each new proxy gets the next number.
    generation: u64,
}

impl ContainerEgress for CellProxy {
    fn renew(&mut self) -> BoxFuture<'_, Result<Option<Introduction>, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            if self.manager.is_current(self.generation) {
                return Ok(None);
            }
            let (_, token, generation) = self.manager.expect(Some(self.cell)).await?;
            self.generation = generation;
            Ok(Some(Introduction { socket: socket_of(&token), authority: self.manager.authority() }))
        })
    }

    fn take_decisions(&mut self, is_last: bool) -> BoxFuture<'_, Vec<Decision>> {
        Box::pin(self.manager.decisions(self.cell, is_last))
    }

    fn take_denials(&mut self) -> Vec<Decision> {
        self.manager.denials(self.cell)
    }
}

/// The path of the door with this secret name, inside a container.
pub(super) fn socket_of(token: &str) -> String {
    format!("{EGRESS}/{token}")
}

impl Drop for CellProxy {
    fn drop(&mut self) {
        self.manager.forget(self.cell);
    }
}
