//! User ids for cells. Each live cell of this process has an id of its own. The zygotes of a host
//! process have one too.
//!
//! The kernel counts many things per user: pipes, watches, pending signals. Two cells with the same
//! id would take them from each other. Within a process no id is given out twice, because all
//! engines share one pool. Between processes the blocks are chosen at random. A process in another
//! pid or mount namespace cannot be asked, and a lock file would be a different file there.
//!
//! ```text
//!  0x7000_0000                                                                  0x7ffe_0000
//!  ├──────────┬─────────────────────┬────────────────────────────────────────────────┤
//!             │ zygotes, cells ───► │
//!             │ grows with use      │
//!             a block begins anywhere in the range
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar_jail::Identity;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::background::PerProcess;

/// The ids of this process: a block of host ids, and which of them are in use.
#[derive(Clone)]
pub(super) struct IdPool {
    /// The host id that is 0 in the block.
    first: u32,
    ids: Arc<Mutex<Ids>>,
}

struct Ids {
    /// Ids that were used and are free again, oldest first.
    free: VecDeque<u32>,
    /// The first id that was never used.
    next: u32,
    /// The first id after the block.
    end: u32,
}

/// An id in use. It goes back to the pool when dropped.
pub(super) struct LeasedId {
    id: u32,
    pool: IdPool,
}

/// How many ids a host process has to itself.
const BLOCK: u32 = 0x1_0000;

/// Ids at the end of a block that are not used, because the kernel's own nobody is there.
const NOBODYS: u32 = 16;

/// How many ids must be free before one is used again. An id is reused late, but the pool does not
/// take ids that another host process may have.
const REST: usize = 512;

static POOL: PerProcess<IdPool> = PerProcess::new();

impl IdPool {
    /// The pool of this process. All engines share it.
    pub(super) fn of_this_process() -> io::Result<Self> {
        POOL.get_or_try_make(Self::anywhere).cloned()
    }

    /// A block that begins anywhere in the range.
    fn anywhere() -> io::Result<Self> {
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let begins = Identity::NOBODYS.end - Identity::NOBODYS.start - BLOCK;
        let offset = u64::from_le_bytes(random) % u64::from(begins);
        let offset = u32::try_from(offset).expect("it is less than a number of 32 bits");
        Ok(Self::at(Identity::NOBODYS.start + offset, BLOCK))
    }

    fn at(first: u32, count: u32) -> Self {
        // 0 belongs to the zygotes. The last few are left to what the kernel calls nobody.
        let ids = Ids { free: VecDeque::new(), next: 1, end: count.saturating_sub(NOBODYS) };
        Self { first, ids: Arc::new(Mutex::new(ids)) }
    }

    /// The identity of this process's zygotes.
    pub(super) fn identity(&self) -> Identity {
        Identity::Range { first: self.first, count: BLOCK }
    }

    /// An id that no other cell of this process has. `None` when all are in use.
    pub(super) fn lease(&self) -> Option<LeasedId> {
        let mut ids = self.ids();
        let is_rested = ids.free.len() > REST || ids.next == ids.end;
        let id = match is_rested {
            true => ids.free.pop_front()?,
            false => {
                ids.next += 1;
                ids.next - 1
            }
        };
        drop(ids);
        Some(LeasedId { id, pool: self.clone() })
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeasedId {
    /// As the zygote knows it.
    pub(super) fn get(&self) -> u32 {
        self.id
    }

    /// As this process knows it.
    pub(super) fn on_host(&self) -> u32 {
        self.pool.first + self.id
    }
}

impl Drop for LeasedId {
    fn drop(&mut self) {
        self.pool.ids().free.push_back(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_id_is_given_out_twice_at_once() {
        let pool = IdPool::at(1000, 3 + 1 + NOBODYS);
        let held: Vec<LeasedId> = std::iter::from_fn(|| pool.lease()).collect();
        let mut ids: Vec<u32> = held.iter().map(LeasedId::get).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3]);
        assert!(pool.lease().is_none());
        drop(held);
        assert!(pool.lease().is_some());
    }

    #[test]
    fn engines_of_one_process_share_their_ids() {
        let (one, other) = (IdPool::of_this_process().unwrap(), IdPool::of_this_process().unwrap());
        assert_eq!(one.identity(), other.identity());
        let (first, second) = (one.lease().unwrap(), other.lease().unwrap());
        assert_ne!(first.get(), second.get());
    }

    /// Processes with neighbouring numbers, or with the same number in two namespaces, once got
    /// neighbouring or equal ids.
    #[test]
    fn where_a_block_begins_has_nothing_to_do_with_who_asks() {
        let firsts: BTreeSet<u32> = (0..64).map(|_| IdPool::anywhere().unwrap().first).collect();
        assert_eq!(firsts.len(), 64);
        for &first in &firsts {
            assert!(Identity::NOBODYS.contains(&first) && Identity::NOBODYS.contains(&(first + BLOCK - 1)));
        }
        // Blocks begin in both halves of the range. In 64 draws, one half is missed once in 2^63.
        let middle = Identity::NOBODYS.start + (Identity::NOBODYS.end - Identity::NOBODYS.start) / 2;
        assert!(firsts.iter().any(|first| *first < middle) && firsts.iter().any(|first| *first >= middle));
    }

    #[test]
    fn an_id_rests_and_yet_few_are_used() {
        let pool = IdPool::at(1000, BLOCK);
        let mut seen = BTreeSet::new();
        for turn in 0..10 * REST {
            let id = pool.lease().unwrap().get();
            assert_eq!(seen.insert(id), turn <= REST, "{id} in turn {turn}");
        }
        assert_eq!(seen.len(), REST + 1);
    }
}
