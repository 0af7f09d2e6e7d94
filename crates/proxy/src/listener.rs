//! One cell's proxy: accepts on the listener made in that cell, and tells what is spoken by the first byte.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::Decision;
use belljar_core::policy::{Denial, Rule, Target, decide};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::audit::{Audit, OnDenial, Record};
use crate::egress::Shared;
use crate::error::EgressError;
use crate::limits::Budget;
use crate::wire::Wire;
use crate::{forward, socks};

/// One cell's way out. Dropping it ends every connection of that cell.
pub struct CellEgress {
    cell: Arc<Cell>,
    accepting: JoinHandle<()>,
}

/// What the connections of one cell have in common.
pub(crate) struct Cell {
    pub(crate) shared: Arc<Shared>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) budget: Budget,
}

impl Cell {
    /// Whether a host may be reached; a refusal is on record.
    pub(crate) fn decide(&self, host: &str, port: u16) -> Result<Target, Denial> {
        let decided = match decide(&self.shared.policy, host, port) {
            Ok(_) if self.budget.is_spent() => Err(Denial::new(host, port, Rule::Limit("bytes of this run"))),
            decided => decided,
        };
        decided.inspect_err(|denial| self.audit.deny(denial))
    }

    /// A refusal that was not for [`decide`] to make, now on record.
    pub(crate) fn denied(&self, host: &str, port: u16, rule: Rule) -> Denial {
        let denial = Denial::new(host, port, rule);
        self.audit.deny(&denial);
        denial
    }

    /// The record of a target that is allowed.
    pub(crate) fn open(&self, target: &Target) -> Arc<Record> {
        Arc::new(self.audit.open(target.host.to_string(), target.port))
    }
}

impl CellEgress {
    pub(crate) fn new(
        shared: Arc<Shared>,
        listener: TcpListener,
        on_denial: Option<OnDenial>,
    ) -> Result<Self, EgressError> {
        listener.set_nonblocking(true).map_err(EgressError::Listener)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(EgressError::Listener)?;
        let audit = Arc::new(Audit::new(shared.limits.decisions, on_denial));
        let budget = Budget::new(shared.limits.bytes_per_run);
        let cell = Arc::new(Cell { shared, audit, budget });
        let accepting = tokio::spawn(accept(cell.clone(), listener));
        Ok(Self { cell, accepting })
    }

    /// What was asked for since the last call, in order; connections that are still open are in it as they stand.
    pub fn take_decisions(&self) -> Vec<Decision> {
        self.cell.audit.take()
    }

    /// How many decisions were too many to keep, since the last call.
    pub fn take_left_out(&self) -> u64 {
        self.cell.audit.take_left_out()
    }

    /// Gives the next run on this cell its own number of bytes.
    pub fn begin_run(&self) {
        self.cell.budget.reset(self.cell.shared.limits.bytes_per_run);
    }
}

impl Drop for CellEgress {
    fn drop(&mut self) {
        // The task owns the set of connections, so they go with it.
        self.accepting.abort();
    }
}

/// Accepts as long as there is room; what comes beyond that waits in the kernel, which bounds it.
async fn accept(cell: Arc<Cell>, listener: tokio::net::TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= cell.shared.limits.connections.max(1) {
            connections.join_next().await;
            continue;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve(cell.clone(), stream));
            }
            Err(error) => {
                // Out of descriptors, most likely: trying again at once would only burn the processor.
                tracing::warn!(%error, "proxy.accept");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(cell: Arc<Cell>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let total = cell.shared.limits.total;
    if timeout(total, converse(cell, Wire::new(stream))).await.is_err() {
        tracing::debug!(?total, "proxy.connection is too old");
    }
}

async fn converse(cell: Arc<Cell>, mut wire: Wire<TcpStream>) {
    let first = timeout(cell.shared.limits.idle, wire.reader.fill_to(1)).await;
    if !matches!(first, Ok(Ok(()))) {
        return;
    }
    match wire.reader.buffer[0] {
        5 => socks::serve(cell, wire).await,
        4 => {
            cell.denied("", 0, Rule::Protocol("SOCKS4, which cannot name hosts safely; use SOCKS5"));
            wire.hang_up(&[0, 0x5b, 0, 0, 0, 0, 0, 0]).await;
        }
        22 => {
            cell.denied("", 0, Rule::Protocol("TLS to the proxy itself"));
            wire.hang_up(&crate::tunnel::ACCESS_DENIED).await;
        }
        _ => forward::serve(cell, wire).await,
    }
}
