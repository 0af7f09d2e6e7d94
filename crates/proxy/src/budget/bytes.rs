//! The bytes a run has left.

use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes a run has left, in both directions together.
#[derive(Debug)]
pub(crate) struct Bytes(AtomicU64);

impl Bytes {
    pub(crate) fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    pub(crate) fn reset(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    /// Takes from what is left. Returns `false` once nothing is left.
    pub(crate) fn spend(&self, bytes: u64) -> bool {
        let spent = |left: u64| Some(left.saturating_sub(bytes));
        // The closure always returns a value, so both arms hold the old one.
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
        let budget = Bytes::new(10);
        assert!(budget.spend(9) && !budget.is_spent());
        assert!(!budget.spend(5) && budget.is_spent() && !budget.spend(1));
        budget.reset(3);
        assert!(budget.spend(2));
    }
}
