//! How much of the host a cell's traffic may take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bounds of one cell's proxy. Memory is bounded by them too: a connection holds a head, a greeting or a
/// piece of what is being copied.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Connections served at the same time; more wait in the listener's own queue.
    pub connections: usize,
    /// Bytes in both directions, between two calls of [`begin_run`](crate::CellEgress::begin_run).
    pub bytes_per_run: u64,
    /// How long a connection may carry nothing.
    pub idle: Duration,
    /// How long a connection may live.
    pub total: Duration,
    /// The longest head of a request, in bytes.
    pub head_bytes: usize,
    /// How long a request's head, a SOCKS handshake or a TLS greeting may take to arrive.
    pub head_time: Duration,
    /// How long resolving and connecting may take together.
    pub connect_time: Duration,
    /// How many decisions are kept for the result; the rest is counted.
    pub decisions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            bytes_per_run: 1 << 30,
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
            head_bytes: 16 * 1024,
            head_time: Duration::from_secs(10),
            connect_time: Duration::from_secs(15),
            decisions: 1000,
        }
    }
}

/// The bytes a run has left.
#[derive(Debug)]
pub(crate) struct Budget(AtomicU64);

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    pub(crate) fn reset(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    /// Takes from what is left; `false` once nothing is.
    pub(crate) fn spend(&self, bytes: u64) -> bool {
        let spent = |left: u64| Some(left.saturating_sub(bytes));
        // The closure always gives a value, so both arms hold what was there before.
        let (Ok(before) | Err(before)) = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent);
        before > bytes
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_once_and_filled_again_by_the_next_run() {
        let budget = Budget::new(10);
        assert!(budget.spend(9) && !budget.is_spent());
        assert!(!budget.spend(5) && budget.is_spent() && !budget.spend(1));
        budget.reset(3);
        assert!(budget.spend(2));
    }
}
