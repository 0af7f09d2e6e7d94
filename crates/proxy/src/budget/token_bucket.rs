//! A token bucket: it fills at a steady rate, up to a maximum. [`Rate`](super::Rate) and
//! [`ProcessorTime`](super::ProcessorTime) use it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct TokenBucket {
    per_second: f64,
    most: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Negative when in debt.
    saved: f64,
    at: Instant,
}

/// The balance at one moment, locked so that nobody else takes from it.
pub(super) struct Balance<'a> {
    per_second: f64,
    state: MutexGuard<'a, State>,
}

impl TokenBucket {
    /// Starts full.
    pub(super) fn new(per_second: f64, most: f64) -> Self {
        let state = Mutex::new(State { saved: most, at: Instant::now() });
        Self { per_second: per_second.max(1e-6), most, state }
    }

    /// The balance, with everything that has come in until now.
    pub(super) fn balance(&self) -> Balance<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let earned = now.duration_since(state.at).as_secs_f64() * self.per_second;
        state.saved = (state.saved + earned).min(self.most);
        state.at = now;
        Balance { per_second: self.per_second, state }
    }
}

impl Balance<'_> {
    /// Takes an amount. The balance may become negative.
    pub(super) fn take(&mut self, amount: f64) {
        self.state.saved -= amount;
    }

    /// How long it takes until this amount is there.
    pub(super) fn wait_for(&self, amount: f64) -> Duration {
        Duration::from_secs_f64((amount - self.state.saved).max(0.0) / self.per_second)
    }
}
