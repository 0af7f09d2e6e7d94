//! Where a call is polled, decided anew each time it is.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::runtime::Handle;

use super::doubt::{Doubt, is_in_doubt};
use super::relay::Relay;
use super::{Background, Forked};

/// A call, as long as it is polled.
pub(super) struct Call<'a> {
    background: &'a Background,
    woken: Option<(Arc<Relay>, Waker)>,
    /// Our own, where the caller's will not do. Once chosen it stays: what is registered need not
    /// move between the two.
    borrowed: Option<Handle>,
    doubt: Option<Arc<Doubt>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(background: &'a Background) -> Self {
        Self { background, woken: None, borrowed: None, doubt: None }
    }

    /// Polls in the caller's own tokio runtime if it is fit for that, otherwise in one of ours.
    pub(super) fn poll<T>(
        &mut self,
        caller: &Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, Forked>> {
        self.background.check()?;
        let waker = self.waker(caller);
        let mut cx = Context::from_waker(&waker);
        let polled = match self.own_context() {
            None => {
                let borrowed = self.borrowed.get_or_insert_with(|| self.background.handle().clone());
                let _entered = borrowed.enter();
                poll(&mut cx)
            }
            Some(own) => {
                let polled = poll(&mut cx);
                if polled.is_pending() {
                    self.look_after(own);
                }
                polled
            }
        };
        polled.map(Ok)
    }

    /// A waker for as long as the call lasts, whoever polls it.
    fn waker(&mut self, caller: &Context<'_>) -> Waker {
        let (relay, waker) = self.woken.get_or_insert_with(|| {
            let relay = Relay::new(caller.waker().clone());
            (Arc::clone(&relay), relay.into())
        });
        relay.redirect(caller.waker());
        waker.clone()
    }

    fn own_context(&self) -> Option<Handle> {
        let own = honest_context()?;
        let is_undriven =
            self.doubt.as_ref().is_some_and(|doubt| doubt.is_about(&own) && doubt.is_confirmed());
        (!is_undriven).then_some(own)
    }

    /// If perhaps nobody drives the runtime that the call waits in, has that found out.
    fn look_after(&mut self, own: Handle) {
        if !is_in_doubt(&own) || self.background.owns(&own) {
            self.doubt = None;
        } else if !self.doubt.as_ref().is_some_and(|doubt| doubt.is_about(&own))
            && let Some((relay, _)) = &self.woken
        {
            self.doubt = Some(self.background.doubts.about(own, Arc::clone(relay)));
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
