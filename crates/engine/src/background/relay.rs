//! Wakers that nothing can come back from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Hands a call on to whoever polled last.
///
/// Callers are woken on Belljar's own threads and in the middle of what Belljar does. The waker of
/// an executor that somebody wrote may panic, and must end none of it.
pub(super) struct Relay {
    to: Mutex<Waker>,
}

impl Relay {
    pub(super) fn new(to: Waker) -> Arc<Self> {
        Arc::new(Self { to: Mutex::new(to) })
    }

    /// From now on calls go to this waker.
    pub(super) fn redirect(&self, to: &Waker) {
        let mut current = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        if !current.will_wake(to) {
            let before = std::mem::replace(&mut *current, to.clone());
            drop(current);
            drop(before);
        }
    }
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // An executor may poll in there, and come back here.
        let to = self.to.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if catch_unwind(AssertUnwindSafe(|| to.wake())).is_err() {
            tracing::warn!("a waker panicked, so whoever it belongs to was not woken");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("as it is meant to");
        }
    }

    #[test]
    fn a_waker_that_panics_ends_nobody_else() {
        let relay = Relay::new(Arc::new(Panics).into());
        Waker::from(Arc::clone(&relay)).wake();
        relay.redirect(Waker::noop());
        Waker::from(relay).wake();
    }
}
