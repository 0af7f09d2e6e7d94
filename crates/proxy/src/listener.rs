//! The proxy of one cell: accepts on the listener made in that cell, and recognises the protocol by
//! its first byte.
//!
//! ```text
//!  accepting task ─┬─ a place, descriptors, then accept ──► one task for each connection
//!                  ├─ watches idle connections to hosts
//!                  └─ told to close: drops the listener, connections and idle hosts; then says so
//! ```

use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::Decision;
use belljar_core::policy::Rule;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::audit::OnDenial;
use crate::budget::{Claim, Paced};
use crate::cell::{Cell, PER_CONNECTION};
use crate::egress::Shared;
use crate::error::EgressError;
use crate::wire::Wire;
use crate::{forward, socks};

/// The egress of one cell. Dropping it ends every connection of that cell.
pub struct CellEgress {
    cell: Arc<Cell>,
    accepting: JoinHandle<()>,
    /// Sent to, or dropped, when the proxy should end.
    closing: Option<oneshot::Sender<()>>,
}

impl CellEgress {
    pub(crate) fn new(
        shared: Arc<Shared>,
        listener: TcpListener,
        on_denial: Option<OnDenial>,
    ) -> Result<Self, EgressError> {
        listener.set_nonblocking(true).map_err(EgressError::Listener)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(EgressError::Listener)?;
        let cell = Arc::new(Cell::new(shared, on_denial));
        let (closing, closed) = oneshot::channel();
        let accepting = tokio::spawn(accept(cell.clone(), listener, closed));
        Ok(Self { cell, accepting, closing: Some(closing) })
    }

    /// What was asked for since the last call, in order. Connections that are still open are
    /// included as they stand.
    pub fn take_decisions(&self) -> Vec<Decision> {
        self.cell.audit.take()
    }

    /// Gives the next run on this cell a new byte budget.
    pub fn begin_run(&self) {
        self.cell.bytes.reset(self.cell.shared.limits.bytes_per_run);
    }

    /// Ends every connection, including those in the listener's queue. Returns when they have
    /// ended. From then on this cell sends nothing, and nothing is decided or reported for it. The
    /// returned decisions are all that were not taken before.
    pub async fn close(mut self) -> Vec<Decision> {
        drop(self.closing.take());
        let _ = (&mut self.accepting).await;
        self.cell.audit.take()
    }
}

impl Drop for CellEgress {
    fn drop(&mut self) {
        // The task owns the set of connections, so they end with it.
        self.accepting.abort();
    }
}

/// Room for one connection.
pub(crate) struct Place {
    /// Its place among the connections served at the same time.
    turn: Option<OwnedSemaphorePermit>,
    _descriptors: Claim,
}

impl Place {
    /// Lets somebody else have the place while this connection is still winding up.
    pub(crate) fn give_way(&mut self) {
        self.turn = None;
    }
}

/// Accepts as long as there is room. More connections wait in the kernel, which limits them.
async fn accept(cell: Arc<Cell>, listener: tokio::net::TcpListener, mut closed: oneshot::Receiver<()>) {
    let turns = Arc::new(Semaphore::new(cell.shared.limits.connections.max(1)));
    let mut connections = JoinSet::new();
    {
        // The work is paced, but not its end: nobody waits for a cell to pay its debts.
        let at_its_expense = || cell.processor_time.clone();
        let mut coming = pin!(Paced::new(at_its_expense(), next(&cell, &turns, &listener)));
        let watching = cell.clone();
        connections.spawn(Paced::new(at_its_expense(), async move { watching.pool.watch().await }));
        loop {
            tokio::select! {
                biased;
                _ = &mut closed => break,
                Some(_) = connections.join_next() => {}
                (stream, place) = &mut coming => {
                    connections.spawn(Paced::new(at_its_expense(), serve(cell.clone(), stream, place)));
                    coming.set(Paced::new(at_its_expense(), next(&cell, &turns, &listener)));
                }
            }
        }
    }
    // The kernel resets whatever is still in its queue.
    drop(listener);
    connections.shutdown().await;
    cell.pool.clear();
}

/// The next connection and its place.
async fn next(cell: &Cell, turns: &Arc<Semaphore>, listener: &tokio::net::TcpListener) -> (TcpStream, Place) {
    let turn = turns.clone().acquire_owned().await.expect("nobody closes it");
    let place = Place { turn: Some(turn), _descriptors: cell.descriptors.claim(PER_CONNECTION).await };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(error) => {
                // Probably out of descriptors. Trying again at once would only burn the processor.
                tracing::warn!(%error, "proxy.accept");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(cell: Arc<Cell>, stream: TcpStream, place: Place) {
    let _ = stream.set_nodelay(true);
    let total = cell.shared.limits.total;
    if timeout(total, converse(cell, Wire::new(stream), place)).await.is_err() {
        tracing::debug!(?total, "proxy.connection is too old");
    }
}

async fn converse(cell: Arc<Cell>, mut wire: Wire<TcpStream>, place: Place) {
    let first = timeout(cell.shared.limits.idle, wire.reader.fill_to(1)).await;
    if !matches!(first, Ok(Ok(()))) {
        return;
    }
    match wire.reader.buffer[0] {
        5 => socks::serve(cell, wire, place).await,
        4 => {
            cell.denied("", 0, Rule::Protocol("SOCKS4, which cannot name hosts safely; use SOCKS5"));
            wire.hang_up(&[0, 0x5b, 0, 0, 0, 0, 0, 0]).await;
        }
        22 => {
            cell.denied("", 0, Rule::Protocol("TLS to the proxy itself"));
            wire.hang_up(&crate::tunnel::ACCESS_DENIED).await;
        }
        _ => forward::serve(cell, wire, place).await,
    }
}
