//! Cells made ahead of need.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use belljar_engine::{Cell, EngineError, Output, Template};
use tokio::sync::Notify;

/// A template's warm cells. Each is given out once.
pub(crate) struct Stock {
    template: Arc<dyn Template>,
    target: usize,
    ready: Mutex<VecDeque<Box<dyn Cell>>>,
    /// Apart from the rest, so that waiting for it does not keep the stock alive.
    taken: Arc<Notify>,
}

impl Stock {
    /// Begins to fill a stock of `target` cells.
    pub(crate) fn new(template: Arc<dyn Template>, target: usize) -> Arc<Self> {
        let stock = Arc::new(Self { template, target, ready: Mutex::default(), taken: Arc::default() });
        if target > 0 {
            tokio::spawn(refill(Arc::downgrade(&stock), Arc::clone(&stock.taken)));
        }
        stock
    }

    /// A cell that has never run anything.
    pub(crate) async fn take(&self) -> Result<Box<dyn Cell>, EngineError> {
        loop {
            let next = self.ready().pop_front();
            self.taken.notify_one();
            let Some(mut cell) = next else { return self.template.spawn().await };
            if is_alive(cell.as_mut()) {
                return Ok(cell);
            }
        }
    }

    /// Makes cells until there are `count`.
    pub(crate) async fn fill_to(&self, count: usize) -> Result<(), EngineError> {
        while self.ready().len() < count {
            let cell = self.template.spawn().await?;
            self.ready().push_back(cell);
        }
        Ok(())
    }

    pub(crate) fn template(&self) -> &dyn Template {
        self.template.as_ref()
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, VecDeque<Box<dyn Cell>>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        self.taken.notify_one();
    }
}

/// An idle cell says nothing; one that has hung up died waiting.
fn is_alive(cell: &mut dyn Cell) -> bool {
    !matches!(cell.poll_output(&mut Context::from_waker(Waker::noop())), Poll::Ready(Output::Closed))
}

/// Keeps the stock full for as long as somebody holds it.
async fn refill(stock: Weak<Stock>, taken: Arc<Notify>) {
    const BACK_OFF: Duration = Duration::from_millis(100);
    const LONGEST_BACK_OFF: Duration = Duration::from_secs(10);
    let mut pause = BACK_OFF;
    loop {
        let Some(held) = stock.upgrade() else { return };
        let missing = held.target.saturating_sub(held.ready().len());
        if missing == 0 {
            drop(held);
            // Also rung when the stock is dropped.
            taken.notified().await;
            continue;
        }
        match held.template.spawn().await {
            Ok(cell) => {
                held.ready().push_back(cell);
                pause = BACK_OFF;
            }
            Err(error) => {
                tracing::warn!(%error, "a warm cell could not be made");
                drop(held);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_BACK_OFF);
            }
        }
    }
}
