//! The books of a template pool while somebody has them, and what goes out when they are closed.
//!
//! To answer a caller is to wake it. Its executor may poll it there and then, on this thread, and
//! the caller may look into these books again. A cell whose caller has given up is dropped, which
//! changes the books too. So both wait until nobody has the books.

use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;

use tokio::sync::oneshot;

use super::checkout::CheckoutError;
use super::lease::Given;
use super::template_pool::State;

/// What a caller in line is told.
pub(super) type Answer = Result<Given, CheckoutError>;

/// An answer, and whom it is for. A caller who has left gets none.
pub(super) type Letter = (Option<oneshot::Sender<Answer>>, Answer);

/// The books, locked. Dropping it unlocks them, and then sends what was written meanwhile.
pub(super) struct Locked<'a>(
    /// `None` only while being dropped.
    Option<MutexGuard<'a, State>>,
);

impl<'a> Locked<'a> {
    pub(super) fn new(state: MutexGuard<'a, State>) -> Self {
        Self(Some(state))
    }
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.0.as_ref().expect("only dropped books are not there")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_mut().expect("only dropped books are not there")
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let Some(mut state) = self.0.take() else { return };
        let letters = std::mem::take(&mut state.letters);
        drop(state);
        for (caller, answer) in letters {
            if let Some(caller) = caller {
                // A caller who gave up just now leaves the cell to be given back.
                let _ = caller.send(answer);
            }
        }
    }
}
