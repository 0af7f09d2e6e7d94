//! Limits how often something happens, with some saved up for a burst.

use std::time::Duration;

use super::token_bucket::TokenBucket;

/// A token bucket. Whoever finds it empty is told how long to wait, in order of arrival.
#[derive(Debug)]
pub(crate) struct Rate(TokenBucket);

impl Rate {
    pub(crate) fn new(per_second: u32, most: u32) -> Self {
        Self(TokenBucket::new(f64::from(per_second.max(1)), f64::from(most.max(1))))
    }

    /// Takes a turn and returns how long to wait for it. Returns `None`, and takes nothing, if that
    /// is longer than `patience`.
    pub(crate) fn take(&self, patience: Duration) -> Option<Duration> {
        let mut balance = self.0.balance();
        let wait = balance.wait_for(1.0);
        if wait > patience {
            return None;
        }
        balance.take(1.0);
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_saved_up_is_there_at_once_and_the_rest_in_turn() {
        let rate = Rate::new(10, 3);
        let patience = Duration::from_millis(250);
        let waits: Vec<_> = (0..6).map(|_| rate.take(patience).map(|wait| wait.as_millis())).collect();
        assert_eq!(waits, [Some(0), Some(0), Some(0), Some(100), Some(200), None]);
        tokio::time::advance(Duration::from_millis(200)).await;
        assert_eq!(
            rate.take(patience),
            Some(Duration::from_millis(100)),
            "those who were refused took nothing"
        );
        tokio::time::advance(Duration::from_secs(60)).await;
        let at_once = (0..10).filter(|_| rate.take(patience) == Some(Duration::ZERO)).count();
        assert_eq!(at_once, 3, "no more is saved than the most");
    }
}
