//! Which templates stay warm and which have to go. Pure: no lock, no clock, no `await`.
//!
//! A template is held or it is not. One that is held stays. One that nobody holds stays for a
//! while, and makes room for others before that, the least recently used first. A template being
//! prepared is held by those who wait for it.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::key::PoolKey;

/// The accounts of all templates of a pool.
#[derive(Debug)]
pub(super) struct Retention {
    most: usize,
    keep_warm: Duration,
    templates: HashMap<PoolKey, Use>,
    releases: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Held,
    /// Since when nobody holds it, and how many were let go of before it. Two can be let go of at
    /// one instant.
    Warm {
        since: Instant,
        order: u64,
    },
}

impl Retention {
    pub(super) fn new(most: usize, keep_warm: Duration) -> Self {
        Self { most, keep_warm, templates: HashMap::new(), releases: 0 }
    }

    /// Somebody holds this template from now on, new or known. Tells which have to go for it.
    #[must_use]
    pub(super) fn hold(&mut self, key: &PoolKey) -> Vec<PoolKey> {
        self.templates.insert(key.clone(), Use::Held);
        self.surplus()
    }

    /// Nobody holds this template any more. Tells which have to go now, perhaps this very one.
    #[must_use]
    pub(super) fn release(&mut self, key: &PoolKey, now: Instant) -> Vec<PoolKey> {
        let order = self.releases;
        if let Some(used) = self.templates.get_mut(key) {
            *used = Use::Warm { since: now, order };
            self.releases += 1;
        }
        let mut gone = self.surplus();
        gone.extend(self.expired(now));
        gone
    }

    /// Those that nobody has held for too long.
    #[must_use]
    pub(super) fn expired(&mut self, now: Instant) -> Vec<PoolKey> {
        let is_over = |used: &Use| match used {
            Use::Held => false,
            Use::Warm { since, .. } => now.duration_since(*since) >= self.keep_warm,
        };
        let gone: Vec<PoolKey> =
            self.templates.iter().filter(|(_, used)| is_over(used)).map(|(key, _)| key.clone()).collect();
        gone.iter().for_each(|key| self.forget(key));
        gone
    }

    /// When to ask [`Self::expired`] next. `None` while every template is held.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let sinces = self.templates.values().filter_map(|used| match used {
            Use::Held => None,
            Use::Warm { since, .. } => Some(*since),
        });
        // A time too far away to be told is one at which nothing happens.
        sinces.min().and_then(|since| since.checked_add(self.keep_warm))
    }

    /// This template is gone.
    pub(super) fn forget(&mut self, key: &PoolKey) {
        self.templates.remove(key);
    }

    fn surplus(&mut self) -> Vec<PoolKey> {
        let mut gone = Vec::new();
        while self.templates.len() > self.most {
            let oldest = self.templates.iter().filter_map(|(key, used)| match used {
                Use::Held => None,
                Use::Warm { order, .. } => Some((*order, key)),
            });
            let Some((_, oldest)) = oldest.min() else { break };
            let oldest = oldest.clone();
            self.forget(&oldest);
            gone.push(oldest);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::config::SandboxConfig;
    use proptest::prelude::*;

    use super::*;
    use crate::engine::Blueprint;

    fn key(name: &str) -> PoolKey {
        let config = SandboxConfig::new(name);
        PoolKey::of("native", &Blueprint::new(config))
    }

    const A_MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn the_least_recently_used_goes_first() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(key);
        let mut retention = Retention::new(3, A_MINUTE);
        let now = Instant::now();
        for key in [&a, &b, &c] {
            assert_eq!(retention.hold(key), []);
        }
        for key in [&b, &a, &c] {
            assert_eq!(retention.release(key, now), []);
        }
        // Used once more, it is the most recent of all.
        assert_eq!(retention.hold(&b), []);
        assert_eq!(retention.release(&b, now), []);
        assert_eq!(retention.hold(&d), std::slice::from_ref(&a));
        assert_eq!(retention.hold(&a), [c]);
        assert_eq!(retention.hold(&key("e")), [b]);
    }

    #[test]
    fn those_that_are_held_stay_and_the_surplus_goes_when_it_is_let_go_of() {
        let [a, b] = ["a", "b"].map(key);
        let mut retention = Retention::new(1, A_MINUTE);
        assert_eq!(retention.hold(&a), []);
        assert_eq!(retention.hold(&b), []);
        assert_eq!(retention.release(&b, Instant::now()), [b]);
        assert_eq!(retention.release(&a, Instant::now()), []);
    }

    #[test]
    fn one_that_nobody_holds_goes_when_its_time_is_over_and_not_before() {
        let [a, b] = ["a", "b"].map(key);
        let mut retention = Retention::new(9, A_MINUTE);
        let start = Instant::now();
        assert_eq!((retention.hold(&a), retention.hold(&b)), (vec![], vec![]));
        assert_eq!(retention.next_expiry(), None);
        assert_eq!(retention.release(&a, start), []);
        assert_eq!(retention.release(&b, start + A_MINUTE / 2), []);
        assert_eq!(retention.next_expiry(), Some(start + A_MINUTE));
        assert_eq!(retention.expired(start + A_MINUTE - Duration::from_nanos(1)), []);
        assert_eq!(retention.expired(start + A_MINUTE), [a]);
        assert_eq!(retention.next_expiry(), Some(start + A_MINUTE + A_MINUTE / 2));
        assert_eq!(retention.hold(&b), []);
        assert_eq!(retention.expired(start + 9 * A_MINUTE), []);
    }

    #[test]
    fn with_no_time_to_keep_warm_a_template_ends_with_its_last_holder() {
        let a = key("a");
        let mut retention = Retention::new(9, Duration::ZERO);
        assert_eq!(retention.hold(&a), []);
        assert_eq!(retention.release(&a, Instant::now()), [a]);
    }

    #[test]
    fn a_time_beyond_all_clocks_is_for_ever() {
        let a = key("a");
        let mut retention = Retention::new(9, Duration::MAX);
        assert_eq!(retention.hold(&a), []);
        assert_eq!(retention.release(&a, Instant::now()), []);
        assert_eq!(retention.next_expiry(), None);
    }

    proptest! {
        /// However templates come and go: there are more than the maximum only while all are held,
        /// and none that is held goes.
        #[test]
        fn the_maximum_holds_unless_all_are_held(
            most in 0usize..5,
            steps in prop::collection::vec((0usize..8, any::<bool>(), 0u64..40), 0..80),
        ) {
            let keys: Vec<PoolKey> = (0..8).map(|number| key(&format!("k{number}"))).collect();
            let mut retention = Retention::new(most, A_MINUTE);
            let mut now = Instant::now();
            let mut held = std::collections::HashSet::new();
            for (which, holds, seconds) in steps {
                now += Duration::from_secs(seconds);
                let gone = if holds {
                    held.insert(which);
                    retention.hold(&keys[which])
                } else if held.remove(&which) {
                    retention.release(&keys[which], now)
                } else {
                    retention.expired(now)
                };
                for key in &gone {
                    prop_assert!(!held.iter().any(|which| keys[*which] == *key), "one that is held went");
                }
                let warm = retention.templates.len() - held.len();
                prop_assert!(warm == 0 || retention.templates.len() <= most);
            }
        }
    }
}
