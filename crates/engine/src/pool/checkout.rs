//! Waiting for a cell, first come, first served.

use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::Counter;
use tokio::sync::oneshot;

use super::lease::Given;
use super::slots::{Ticket, Turn};
use super::template_pool::{Ending, TemplatePool};
use crate::{EngineError, Fault, Forked, timeout};

/// Why a caller got no cell.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CheckoutError {
    /// Making one failed.
    #[error(transparent)]
    Spawn(Arc<EngineError>),
    /// None came free in time.
    #[error("no cell of sandbox `{name}` came free within {} ms: {in_use} of {capacity} are in use", .within.as_millis())]
    TimedOut {
        /// The sandbox.
        name: String,
        /// How long the caller was willing to wait.
        within: Duration,
        /// Cells leased at that moment.
        in_use: usize,
        /// How many there may be.
        capacity: usize,
    },
    /// The sandbox was closed by whoever opened it.
    #[error("sandbox `{name}` is closed: open it again to run more")]
    Closed {
        /// The sandbox.
        name: String,
    },
    /// This process was forked from the one that the cells belong to.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// Everything has been shut down.
    #[error("sandbox `{name}` runs nothing more: its runtime is shut down. Build another runtime")]
    ShutDown {
        /// The sandbox.
        name: String,
    },
}

impl CheckoutError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Spawn(error) => error.fault(),
            Self::TimedOut { .. } => Fault::Backend,
            Self::Closed { .. } | Self::Forked(_) | Self::ShutDown { .. } => Fault::Caller,
        }
    }
}

impl TemplatePool {
    /// A cell that has never run anything, in turn. Dropping the future gives the place in line up.
    pub(super) async fn checkout(&self) -> Result<Given, CheckoutError> {
        self.wait_in_line(None, None).await
    }

    /// The same for a caller who gives a cell up for it. Nobody who waits comes between.
    pub(super) async fn exchange(&self, given_up: Given) -> Result<Given, CheckoutError> {
        self.wait_in_line(None, Some(given_up)).await
    }

    /// The same, for callers who will not wait longer.
    pub(super) async fn checkout_within(&self, within: Duration) -> Result<Given, CheckoutError> {
        self.wait_in_line(Some(within), None).await
    }

    async fn wait_in_line(
        &self,
        within: Option<Duration>,
        given_up: Option<Given>,
    ) -> Result<Given, CheckoutError> {
        let turn = if given_up.is_some() { Turn::First } else { Turn::Last };
        let began = Instant::now();
        let (ticket, was_warm, answer) = {
            let mut state = self.lock();
            state.next_ticket += 1;
            let ticket = Ticket(state.next_ticket);
            let (caller, answer) = oneshot::channel();
            state.callers.insert(ticket, caller);
            let warm = state.slots.idle() > 0;
            let counted = &mut state.counted;
            *(if warm { &mut counted.warm } else { &mut counted.waited }) += 1;
            let actions = state.slots.checkout(ticket, turn);
            self.obey(&mut state, actions, None);
            (ticket, warm, answer)
        };
        // First in line by now, so that what this frees comes back here.
        drop(given_up);
        let checkouts = &self.meters.checkouts;
        let mut place = PlaceInLine { pool: self, ticket, outcome: &checkouts.gave_up };
        let answer = match within {
            None => Ok(answer.await),
            Some(within) => timeout(within, answer).await.map_err(|_| within),
        };
        place.outcome = match &answer {
            Ok(Ok(Ok(_))) if was_warm => &checkouts.warm,
            Ok(Ok(Ok(_))) => &checkouts.waited,
            Ok(_) => &checkouts.refused,
            Err(_) => &checkouts.timed_out,
        };
        drop(place);
        match answer {
            Ok(Ok(Ok(given))) => {
                self.meters.wait_seconds.record(began.elapsed());
                Ok(given)
            }
            Ok(Ok(Err(refusal))) => Err(refusal),
            Ok(Err(_)) => Err(Ending::Closed.error(&self.name)),
            Err(within) => {
                let state = self.lock();
                let (in_use, capacity) = (state.slots.leased(), state.slots.capacity());
                Err(CheckoutError::TimedOut { name: self.name.clone(), within, in_use, capacity })
            }
        }
    }

    /// Makes `count` cells ready ahead of need, this once, or as many as there may be. Fails when
    /// one cannot be made.
    pub(super) async fn fill(&self, count: usize) -> Result<(), CheckoutError> {
        let usual = self.lock().stock.unwrap_or(0);
        let _only_meanwhile = RaisedStock(self);
        self.change(|slots| slots.set_stock(count.max(usual)));
        self.wait_for_idle(count).await
    }

    /// Waits until the stock is full.
    pub(super) async fn wait_until_stocked(&self) -> Result<(), CheckoutError> {
        if self.blueprint.config.pool_size == 0 {
            return Ok(());
        }
        self.wait_for_idle(1).await?;
        let stock = self.lock().stock.unwrap_or(0);
        self.wait_for_idle(stock).await
    }

    async fn wait_for_idle(&self, count: usize) -> Result<(), CheckoutError> {
        loop {
            let changed = self.changed.notified();
            if let Some(refusal) = self.refusal() {
                return Err(refusal);
            }
            {
                let state = self.lock();
                let slots = &state.slots;
                // Those that will not come back take up room.
                let lost = slots.leased() + slots.idle() - slots.present();
                if slots.present() >= count.min(slots.capacity().saturating_sub(lost)) {
                    return Ok(());
                }
                if let Some(failure) = &state.last_failure {
                    return Err(CheckoutError::Spawn(Arc::clone(failure)));
                }
            }
            changed.await;
        }
    }

    /// Waits until no cell is in use, and those that come back are as good as new again.
    pub(super) async fn at_rest(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.lock().slots.leased() == 0 {
                return;
            }
            changed.await;
        }
    }
}

/// A caller who stops waiting gives up the place, whatever made them stop.
struct PlaceInLine<'a> {
    pool: &'a TemplatePool,
    ticket: Ticket,
    /// What the checkout counts as when the place is given up.
    outcome: &'a Counter,
}

impl Drop for PlaceInLine<'_> {
    fn drop(&mut self) {
        self.outcome.increment(1);
        let mut state = self.pool.lock();
        if state.callers.remove(&self.ticket).is_some() {
            let actions = state.slots.cancel(self.ticket);
            self.pool.obey(&mut state, actions, None);
        }
    }
}

/// A larger stock than usual, until this is dropped.
struct RaisedStock<'a>(&'a TemplatePool);

impl Drop for RaisedStock<'_> {
    fn drop(&mut self) {
        let usual = self.0.lock().stock.unwrap_or(0);
        self.0.change(|slots| slots.set_stock(usual));
    }
}
