//! Connections of one cell that wait for its next request to the same host.
//!
//! A new connection for each request would cost the host a port and the other side a handshake. What is kept here is one
//! cell's and one use's: [`Pool`] is part of [`Cell`](crate::cell::Cell), and ends with it. Only a connection on which
//! everything was well is put here, and one that speaks unasked or closes is thrown away at once.

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

/// Connections that are kept. Another takes the place of the one that has waited longest.
const MOST: usize = 4;

/// How long one is kept. Many servers give up after five seconds; one that is closed while a request is on its way costs it.
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
    /// A connection to this very target that is protected as wanted, for this record from now on.
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

    /// Keeps a connection on which a request was answered and everything was well, if there is a descriptor for it.
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

    /// Throws away what has waited too long, was closed or speaks unasked; for as long as it is polled.
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

    /// Ready when something was thrown away.
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
