//! What comes in by the second and is saved up to a most: the arithmetic of [`Rate`](super::Rate) and [`Labour`](super::Labour).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Savings {
    per_second: f64,
    most: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Less than nothing when in debt.
    saved: f64,
    at: Instant,
}

/// What there is at one moment, held so that nobody else takes of it.
pub(super) struct Balance<'a> {
    per_second: f64,
    state: MutexGuard<'a, State>,
}

impl Savings {
    /// Begins with the most.
    pub(super) fn new(per_second: f64, most: f64) -> Self {
        let state = Mutex::new(State { saved: most, at: Instant::now() });
        Self { per_second: per_second.max(1e-6), most, state }
    }

    /// With all that has come in by now.
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
    /// Into debt, if need be.
    pub(super) fn take(&mut self, amount: f64) {
        self.state.saved -= amount;
    }

    /// How long until there is so much.
    pub(super) fn wait_for(&self, amount: f64) -> Duration {
        Duration::from_secs_f64((amount - self.state.saved).max(0.0) / self.per_second)
    }
}
