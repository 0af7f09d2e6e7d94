//! User ids for cells: each live cell of this process has one to itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Ids not in use, oldest first, so that one is used again as late as possible.
#[derive(Clone)]
pub(super) struct IdPool(Arc<Mutex<VecDeque<u32>>>);

/// An id in use; goes back when dropped.
pub(super) struct LeasedId {
    id: u32,
    pool: IdPool,
}

impl IdPool {
    /// Ids 1 to `count`; 0 is the zygote's. Begins somewhere else in every process, so that two hosts on one machine
    /// rarely have cells under the same id.
    pub(super) fn new(count: u32, offset: u32) -> Self {
        let ids = (0..count).map(|n| 1 + (n + offset) % count).collect();
        Self(Arc::new(Mutex::new(ids)))
    }

    /// An id nobody else here has; `None` when all are taken.
    pub(super) fn lease(&self) -> Option<LeasedId> {
        let id = self.ids().pop_front()?;
        Some(LeasedId { id, pool: self.clone() })
    }

    fn ids(&self) -> std::sync::MutexGuard<'_, VecDeque<u32>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl LeasedId {
    pub(super) fn get(&self) -> u32 {
        self.id
    }
}

impl Drop for LeasedId {
    fn drop(&mut self) {
        self.pool.ids().push_back(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_is_given_out_twice_at_once() {
        let pool = IdPool::new(3, 7);
        let held: Vec<LeasedId> = std::iter::from_fn(|| pool.lease()).collect();
        let mut ids: Vec<u32> = held.iter().map(LeasedId::get).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3]);
        assert!(pool.lease().is_none());
        drop(held);
        assert!(pool.lease().is_some());
    }
}
