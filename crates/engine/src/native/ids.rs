//! User ids for cells: each live cell of this process has one to itself, and so has each host process its zygotes' own.
//!
//! The kernel counts much by user (pipes, watches, pending signals), so two cells under one id would go short for each other. Within a
//! process nobody gets an id twice: all engines draw on one pool. Between processes chance decides, because nobody can be
//! asked who is in another pid or mount namespace, where a lock file would be another file:
//!
//! ```text
//!  0x7000_0000                                                                    0x7ffe_0000
//!  ├──────────┬─────────────────────┬───────────────────────────────┬──────────────────┤
//!             │ zygotes, cells ───► │ grows by what is used          a block begins anywhere in the range
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar_jail::Identity;
use rustix::rand::{GetRandomFlags, getrandom};

/// The ids of this process: a block of the host's, and which of it are in use.
#[derive(Clone)]
pub(super) struct IdPool {
    /// The id on the host that is 0 in the block.
    first: u32,
    ids: Arc<Mutex<Ids>>,
}

struct Ids {
    /// Those that have been used and are free, oldest first.
    free: VecDeque<u32>,
    /// The first that never was in use.
    next: u32,
    /// The first that is not in the block.
    end: u32,
}

/// An id in use; goes back when dropped.
pub(super) struct LeasedId {
    id: u32,
    pool: IdPool,
}

/// Ids that a host process has to itself.
const BLOCK: u32 = 0x1_0000;

/// The end of a block, where the kernel's own nobody is.
const NOBODYS: u32 = 16;

/// So many must be free before one is used again: late, but without taking ids that another host may have.
const REST: usize = 512;

/// Of the process with this number: a copy of it, made by `fork`, needs a pool of its own.
static POOL: Mutex<Option<(u32, IdPool)>> = Mutex::new(None);

impl IdPool {
    /// The one of this process, whichever engine asks.
    pub(super) fn of_this_process() -> io::Result<Self> {
        let mut made = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if let Some((owner, pool)) = &*made
            && *owner == process
        {
            return Ok(pool.clone());
        }
        let pool = Self::anywhere()?;
        *made = Some((process, pool.clone()));
        Ok(pool)
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
        // 0 is the zygotes'; the last few are left to what the kernel calls nobody.
        let ids = Ids { free: VecDeque::new(), next: 1, end: count.saturating_sub(NOBODYS) };
        Self { first, ids: Arc::new(Mutex::new(ids)) }
    }

    /// Who the zygotes of this process are.
    pub(super) fn identity(&self) -> Identity {
        Identity::Range { first: self.first, count: BLOCK }
    }

    /// An id nobody else here has; `None` when all are taken.
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
    pub(super) fn get(&self) -> u32 {
        self.id
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

    /// Neighbouring process numbers, or the same one in two namespaces, used to have neighbouring or the same ids.
    #[test]
    fn where_a_block_begins_has_nothing_to_do_with_who_asks() {
        let firsts: BTreeSet<u32> = (0..64).map(|_| IdPool::anywhere().unwrap().first).collect();
        assert_eq!(firsts.len(), 64);
        for &first in &firsts {
            assert!(Identity::NOBODYS.contains(&first) && Identity::NOBODYS.contains(&(first + BLOCK - 1)));
        }
        // All over the range: in 64 draws each half is missed once in 2^64.
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
