//! Shares the descriptors of the process among its tenants.
//!
//! Every connection costs a descriptor. A process that has none left can make no cells, read no
//! files and report nothing. So what the kernel allows (`RLIMIT_NOFILE`) is divided up first:
//!
//! ```text
//!  all ─┬─ half: never taken here. For making cells, and for the program itself
//!       └─ half ─┬─ floors: the first few connections of each cell, kept for it while it lives
//!                └─ shared: the rest; nobody may hold more than is left for the others
//! ```
//!
//! By the last rule one cell can have half of what is shared, two a third each, nine a tenth each.
//! Whoever comes later still has its floor. Whoever gets none waits, and does not see "too many
//! open files".

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::{Resource, getrlimit};
use tokio::sync::Notify;

/// The number assumed for a process without a limit.
const PLENTY: usize = 1 << 20;

/// The descriptors of a process, shared out.
#[derive(Debug, Clone)]
pub struct Descriptors(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    accounts: Mutex<Accounts>,
    given_back: Notify,
}

impl Descriptors {
    /// The descriptors of this process. The first caller determines how many there are.
    pub fn of_this_process() -> &'static Self {
        static ALL: OnceLock<Descriptors> = OnceLock::new();
        ALL.get_or_init(|| {
            let limit = getrlimit(Resource::Nofile).current;
            let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(PLENTY);
            let taken = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
            Self::new(limit.saturating_sub(taken) / 2)
        })
    }

    /// A pool of `count` descriptors.
    pub fn new(count: usize) -> Self {
        let accounts = Accounts { for_floors: count / 2, shared: count - count / 2 };
        Self(Arc::new(Pool { accounts: Mutex::new(accounts), given_back: Notify::new() }))
    }

    /// One party's share. Up to `floor` descriptors are kept for it, as far as there are enough.
    pub fn share(&self, floor: usize) -> Share {
        let holding = self.0.lock().open(floor);
        Share(Arc::new(Party { pool: self.0.clone(), holding: Mutex::new(holding) }))
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one party may take. Its floor is kept until this share and all its claims are dropped.
#[derive(Debug, Clone)]
pub struct Share(Arc<Party>);

#[derive(Debug)]
struct Party {
    pool: Arc<Pool>,
    holding: Mutex<Holding>,
}

impl Share {
    /// Takes `count` descriptors, if this party may have them now.
    pub fn try_claim(&self, count: usize) -> Option<Claim> {
        let taken = self.0.pool.lock().take(&mut self.0.holding(), count);
        taken.then(|| Claim { party: self.0.clone(), count })
    }

    /// Takes `count` descriptors, as soon as this party may have them.
    pub async fn claim(&self, count: usize) -> Claim {
        loop {
            let mut given_back = std::pin::pin!(self.0.pool.given_back.notified());
            // Register before looking, so that nothing given back in between is missed.
            given_back.as_mut().enable();
            if let Some(claim) = self.try_claim(count) {
                return claim;
            }
            given_back.await;
        }
    }
}

impl Party {
    /// Lock this only after the accounts.
    fn holding(&self) -> MutexGuard<'_, Holding> {
        self.holding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        let floor = self.holding().floor;
        self.pool.lock().close(floor);
    }
}

/// Descriptors that are taken until this is dropped.
#[derive(Debug)]
pub struct Claim {
    party: Arc<Party>,
    count: usize,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.party.pool.lock().give_back(&mut self.party.holding(), self.count);
        self.party.pool.given_back.notify_waiters();
    }
}

/// Who may take how many. Pure.
#[derive(Debug)]
struct Accounts {
    /// Not promised to anybody yet.
    for_floors: usize,
    /// Not taken yet.
    shared: usize,
}

#[derive(Debug)]
struct Holding {
    floor: usize,
    held: usize,
}

impl Holding {
    fn beyond_floor(&self) -> usize {
        self.held.saturating_sub(self.floor)
    }
}

impl Accounts {
    fn open(&mut self, floor: usize) -> Holding {
        let floor = if self.for_floors >= floor { floor } else { 0 };
        self.for_floors -= floor;
        Holding { floor, held: 0 }
    }

    fn close(&mut self, floor: usize) {
        self.for_floors += floor;
    }

    fn take(&mut self, holding: &mut Holding, count: usize) -> bool {
        let after = Holding { held: holding.held + count, ..*holding };
        let more = after.beyond_floor() - holding.beyond_floor();
        // After this, at least as much must be left for the others as this party has.
        if more > 0 && after.beyond_floor() > self.shared.saturating_sub(more) {
            return false;
        }
        self.shared -= more;
        *holding = after;
        true
    }

    fn give_back(&mut self, holding: &mut Holding, count: usize) {
        let before = holding.beyond_floor();
        holding.held -= count;
        self.shared += before - holding.beyond_floor();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// Takes as many as one party gets, two at a time.
    fn greedy(share: &Share) -> Vec<Claim> {
        std::iter::from_fn(|| share.try_claim(2)).take(64).collect()
    }

    #[test]
    fn whoever_comes_late_has_its_floor_whatever_the_others_take() {
        let all = Descriptors::new(480);
        let parties: Vec<_> = (0..25).map(|_| all.share(8)).collect();
        let held: Vec<_> = parties.iter().map(greedy).collect();
        assert!(
            held.iter().all(|claims| claims.len() >= 4),
            "{:?}",
            held.iter().map(Vec::len).collect::<Vec<_>>()
        );
        let total: usize = held.iter().map(|claims| 2 * claims.len()).sum();
        assert!(total <= 480, "{total} of 480");
        assert!(held[0].len() > 30, "one alone has plenty: {}", held[0].len());
    }

    #[tokio::test]
    async fn who_waits_is_served_when_something_is_given_back() {
        let all = Descriptors::new(4);
        let share = all.share(2);
        let first = share.claim(2).await;
        let second = tokio::spawn(async move { drop(share.claim(2).await) });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        tokio::time::timeout(Duration::from_secs(60), second).await.unwrap().unwrap();
        assert!(all.share(2).try_claim(2).is_some(), "floors come back too");
    }

    proptest! {
        /// Whatever is taken and given back, never more is out than exists, and in the end all of
        /// it is back.
        #[test]
        fn the_accounts_add_up(
            floors in proptest::collection::vec(0..6usize, 1..6),
            moves in proptest::collection::vec((0..6usize, 1..5usize, any::<bool>()), 0..200),
        ) {
            const ALL: usize = 40;
            let mut accounts = Accounts { for_floors: ALL / 2, shared: ALL / 2 };
            let mut parties: Vec<_> = floors.iter().map(|floor| (accounts.open(*floor), Vec::new())).collect();
            for (who, count, takes) in moves {
                let index = who % parties.len();
                let (holding, taken) = &mut parties[index];
                if takes && accounts.take(holding, count) {
                    taken.push(count);
                } else if !takes && let Some(count) = taken.pop() {
                    accounts.give_back(holding, count);
                }
                let floors: usize = parties.iter().map(|(holding, _)| holding.floor).sum();
                let beyond: usize = parties.iter().map(|(holding, _)| holding.beyond_floor()).sum();
                prop_assert_eq!((accounts.for_floors + floors, accounts.shared + beyond), (ALL / 2, ALL / 2));
                for (holding, taken) in &parties {
                    prop_assert_eq!(holding.held, taken.iter().sum::<usize>());
                }
            }
            for (mut holding, taken) in parties {
                for count in taken {
                    accounts.give_back(&mut holding, count);
                }
                accounts.close(holding.floor);
            }
            prop_assert_eq!((accounts.for_floors, accounts.shared), (ALL / 2, ALL / 2));
        }
    }
}
