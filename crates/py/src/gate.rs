//! The way from threads of ours into the interpreter, which is closed before the interpreter ends.
//!
//! A thread that is inside while the interpreter is taken down aborts the process. So the end waits
//! until nobody is inside, and lets nobody in any more.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

/// How many are inside, and whether it is closed.
#[derive(Default)]
struct State {
    inside: usize,
    is_closed: bool,
}

/// The way into the interpreter, for threads that are not Python's.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<State>, Condvar)>);

/// Counts while somebody is inside.
struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.state().inside -= 1;
        self.0.0.1.notify_all();
    }
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something in the interpreter. `None` if that ends, or has ended.
    pub(crate) fn enter<T>(&self, work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
        let _inside = {
            let mut state = self.state();
            if state.is_closed {
                return None;
            }
            state.inside += 1;
            Inside(self)
        };
        Python::try_attach(work)
    }

    /// Lets nobody in any more, and waits until nobody is inside. The caller must not be attached:
    /// whoever is inside may wait for the interpreter.
    pub(crate) fn close(&self, patience: Duration) {
        let mut state = self.state();
        state.is_closed = true;
        let _ = self.0.1.wait_timeout_while(state, patience, |state| state.inside > 0);
    }
}
