//! Wakers that nothing can come back from.

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

/// The waker of a caller, made harmless.
///
/// Callers are woken on Belljar's own threads and in the middle of what Belljar does. The waker of
/// an executor that somebody wrote may panic: when it is called, cloned or dropped. That must end
/// nothing of ours.
#[derive(Debug, Default)]
pub struct CallersWaker {
    known: Option<(Arc<Relay>, Waker)>,
}

impl CallersWaker {
    /// A waker that calls whoever polls now, until somebody else does.
    pub fn of(&mut self, caller: &Context<'_>) -> &Waker {
        let (relay, waker) = self.known.get_or_insert_with(|| {
            let relay = Arc::new(Relay { to: Mutex::new(Some(caller.waker().clone())) });
            (Arc::clone(&relay), relay.into())
        });
        relay.redirect(caller.waker());
        waker
    }

    pub(super) fn relay(&self) -> Option<&Arc<Relay>> {
        self.known.as_ref().map(|(relay, _)| relay)
    }
}

/// Hands a call on to whoever polled last.
#[derive(Debug)]
pub(super) struct Relay {
    /// `None` only while it is being dropped.
    to: Mutex<Option<Waker>>,
}

impl Relay {
    /// From now on calls go to this waker. On the caller's own thread, where its panics may go on.
    fn redirect(&self, to: &Waker) {
        let is_new = !self.with(|current| current.as_ref().is_some_and(|current| current.will_wake(to)));
        if is_new {
            let to = to.clone();
            let before = self.with(|current| current.replace(to));
            harmlessly(|| drop(before));
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Option<Waker>) -> T) -> T {
        look(&mut self.to.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        harmlessly(|| {
            // Not under the lock: an executor may poll in there, and come back here.
            if let Some(to) = self.with(|current| current.clone()) {
                to.wake();
            }
        });
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let last = self.with(Option::take);
        harmlessly(|| drop(last));
    }
}

/// Does what a waker does, and lets no panic out.
fn harmlessly(work: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        // What it panicked with may panic again when it is dropped.
        forget(panic);
        tracing::warn!("a waker panicked, so whoever it belongs to may not have been woken");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Panics when it is called and when it is dropped, once it is told to.
    #[derive(Default)]
    struct Panics(AtomicBool);

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("as it is meant to");
        }
    }

    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(!self.0.load(Ordering::Relaxed), "as it is meant to");
        }
    }

    #[test]
    fn a_waker_that_panics_ends_nobody_else() {
        let panics = Arc::new(Panics::default());
        let waker = Waker::from(Arc::clone(&panics));
        let mut callers = CallersWaker::default();
        let ours = callers.of(&Context::from_waker(&waker)).clone();
        ours.wake_by_ref();
        panics.0.store(true, Ordering::Relaxed);
        forget(waker);
        forget(panics);
        drop(callers);
        ours.wake();
    }
}
