//! What clients share: so much in all, and at most half of it for one of them.
//!
//! Places for sessions, files on their way, bytes of requests in memory: whatever a client can hold
//! for long is taken here before anything is done for it, and given back when the [`Share`] is
//! dropped. So one token never has everything, however it asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::problem::{Code, Problem};

/// Something that there is only so much of.
pub(crate) struct Shares {
    /// What a client is told that there is too much of.
    what: &'static str,
    most: u64,
    taken: Mutex<BTreeMap<String, u64>>,
}

impl Shares {
    pub(crate) fn new(what: &'static str, most: u64) -> Arc<Self> {
        Arc::new(Self { what, most, taken: Mutex::default() })
    }

    /// Takes some of it for a client. `own` is what its token allows, if that is less.
    pub(crate) fn take(
        self: &Arc<Self>,
        owner: &str,
        amount: u64,
        own: Option<u64>,
    ) -> Result<Share, Problem> {
        let mut share = Share { shares: self.clone(), owner: owner.to_owned(), amount: 0 };
        share.grow_within(amount, own)?;
        Ok(share)
    }

    /// How much is taken.
    pub(crate) fn taken(&self) -> u64 {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one client has taken. It is given back when this is dropped.
pub(crate) struct Share {
    shares: Arc<Shares>,
    owner: String,
    amount: u64,
}

impl Share {
    /// Takes more.
    pub(crate) fn grow(&mut self, more: u64) -> Result<(), Problem> {
        self.grow_within(more, None)
    }

    fn grow_within(&mut self, more: u64, own: Option<u64>) -> Result<(), Problem> {
        let (what, most) = (self.shares.what, self.shares.most);
        let half = most.div_ceil(2).max(1);
        let mut taken = self.shares.lock();
        let all: u64 = taken.values().sum();
        let theirs = taken.get(&self.owner).copied().unwrap_or_default().saturating_add(more);
        let detail = if all.saturating_add(more) > most {
            format!("this server has no room for more {what} than {most}: come again later")
        } else if theirs > own.unwrap_or(half).min(half) {
            format!("this token has as many {what} as it may: come again later")
        } else {
            self.amount += more;
            taken.insert(self.owner.clone(), theirs);
            return Ok(());
        };
        Err(Problem::new(Code::QueueFull, detail).after(Duration::from_secs(5)))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.lock();
        let left = taken.get(&self.owner).copied().unwrap_or_default().saturating_sub(self.amount);
        match left {
            0 => drop(taken.remove(&self.owner)),
            left => drop(taken.insert(self.owner.clone(), left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_more_than_half_and_what_is_given_back_is_there_again() {
        let shares = Shares::new("things", 4);
        let one = shares.take("a", 1, None).unwrap();
        let two = shares.take("a", 1, None).unwrap();
        assert!(shares.take("a", 1, None).is_err(), "that is half");
        let mut theirs = shares.take("b", 1, None).unwrap();
        theirs.grow(1).unwrap();
        assert!(theirs.grow(1).is_err() && shares.take("c", 1, None).is_err(), "that is all");
        drop((one, theirs));
        assert_eq!(shares.taken(), 1);
        assert!(shares.take("a", 1, Some(1)).is_err(), "its token allows less");
        drop(two);
        assert_eq!((shares.taken(), shares.lock().len()), (0, 0));
        assert!(Shares::new("things", 1).take("a", 1, None).is_ok(), "half of one is one");
    }
}
