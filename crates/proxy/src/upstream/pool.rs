//! Connections of one cell that wait for its next request to the same host.
//!
//! A new connection for each request would cost the host a port and the other side a handshake. A
//! pool belongs to one cell and one use of it: [`Pool`] is part of [`Cell`](crate::cell::Cell) and
//! ends with it. Only a connection without any trouble is put here. One that closes, or sends
//! something unasked, is dropped at once.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use belljar_core::policy::{Host, Target};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::HostConnection;
use crate::audit::Record;
use crate::budget::Share;

/// Connections that are kept. One more replaces the one that has waited longest.
const MOST: usize = 4;

/// How long one is kept. Many servers give up after five seconds. A request is lost if its
/// connection closes while it is on its way.
const KEPT: Duration = Duration::from_secs(4);

#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Vec<Idle>>,
    changed: Notify,
}

struct Idle {
    host: Host,
    port: u16,
    connection: HostConnection,
    until: Instant,
}

impl Pool {
    /// A connection to this target with the wanted protection. It counts for this record from now
    /// on.
    pub(crate) fn take(&self, target: &Target, tls: bool, record: &Arc<Record>) -> Option<HostConnection> {
        let mut idle = self.lock();
        let fits = |one: &Idle| {
            one.port == target.port
                && one.host == target.host
                && one.connection.protection().is_verified_tls() == tls
        };
        while let Some(at) = idle.iter().rposition(fits) {
            let mut connection = idle.remove(at).connection;
            if connection.is_ready() {
                connection.claim = None;
                connection.set_record(Some(record.clone()));
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection after a request that went well, if there is a descriptor for it.
    pub(crate) fn put(&self, target: &Target, mut connection: HostConnection, share: &Share) {
        connection.set_record(None);
        if !connection.is_ready() {
            return;
        }
        let mut idle = self.lock();
        if idle.len() >= MOST {
            idle.remove(0);
        }
        connection.claim = share.try_claim(1);
        if connection.claim.is_some() {
            let until = Instant::now() + KEPT;
            idle.push(Idle { host: target.host.clone(), port: target.port, connection, until });
            drop(idle);
            self.changed.notify_one();
        }
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Drops connections that have waited too long, were closed or sent something unasked. Works
    /// while it is polled.
    pub(crate) async fn watch(&self) {
        loop {
            let first = self.lock().iter().map(|one| one.until).min();
            tokio::select! {
                () = self.changed.notified() => {}
                () = sleep_until(first.unwrap_or_else(Instant::now)), if first.is_some() => {
                    self.lock().retain(|one| one.until > Instant::now());
                }
                () = poll_fn(|cx| self.poll_ended(cx)) => {}
            }
        }
    }

    /// Ready when something was dropped.
    fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut idle = self.lock();
        let before = idle.len();
        idle.retain_mut(|one| one.connection.poll_end(cx).is_pending());
        if idle.len() < before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
