//! Where a call is polled, decided anew each time it is.

use std::sync::Arc;
use std::task::{Context, Poll, Wake as _};

use tokio::runtime::Handle;

use super::doubt::{Doubt, drives_itself};
use super::relay::CallersWaker;
use super::{Background, Forked};

/// A call, as long as it is polled.
pub(super) struct Call<'a> {
    background: &'a Background,
    waker: CallersWaker,
    /// Our own, where the caller's will not do. Once chosen it stays: what is registered need not
    /// move between the two.
    borrowed: Option<Handle>,
    doubt: Option<Arc<Doubt>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(background: &'a Background) -> Self {
        Self { background, waker: CallersWaker::default(), borrowed: None, doubt: None }
    }

    /// Polls in the caller's own tokio runtime if it is fit for that, otherwise in one of ours.
    pub(super) fn poll<T>(
        &mut self,
        caller: &Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, Forked>> {
        self.background.check()?;
        let own = self.own_context();
        let mut cx = Context::from_waker(self.waker.of(caller));
        let polled = match &own {
            Some(_) => poll(&mut cx),
            None => {
                let borrowed = self.borrowed.get_or_insert_with(|| self.background.handle().clone());
                let _entered = borrowed.enter();
                poll(&mut cx)
            }
        };
        // A sink may have forked, and come back twice.
        self.background.check()?;
        if let (Some(own), Poll::Pending) = (own, &polled) {
            self.look_after(own);
        }
        polled.map(Ok)
    }

    fn own_context(&self) -> Option<Handle> {
        let own = honest_context()?;
        let is_undriven = self.background.doubts.are_confirmed_about(&own);
        (!is_undriven).then_some(own)
    }

    /// If perhaps nobody drives the runtime that the call waits in, has that found out.
    fn look_after(&mut self, own: Handle) {
        if drives_itself(&own) || self.background.owns(&own) {
            self.doubt = None;
        } else if !self.doubt.as_ref().is_some_and(|doubt| doubt.is_about(&own))
            && let Some(relay) = self.waker.relay()
        {
            let doubt = self.background.doubts.about(own, Arc::clone(relay));
            // If it was confirmed since this poll began, nobody is told of this call any more.
            if self.background.doubts.are_confirmed_about(doubt.runtime()) {
                relay.wake_by_ref();
            }
            self.doubt = Some(doubt);
        }
    }
}

/// The caller's own tokio runtime, unless its clock stands still. Tests pause clocks: then a limit
/// of 30 seconds would be over as soon as nobody has anything to do.
pub(super) fn honest_context() -> Option<Handle> {
    let handle = Handle::try_current().ok()?;
    let before = std::time::Instant::now();
    let now = tokio::time::Instant::now().into_std();
    (before <= now && now <= std::time::Instant::now()).then_some(handle)
}
