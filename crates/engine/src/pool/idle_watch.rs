//! Watching idle cells. One that dies is replaced before anybody gets it.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use belljar_core::CellId;
use tokio::sync::Notify;

use super::template_pool::{State, TemplatePool};
use crate::cell::{Cell, Output};

/// A waker for idle cells that keeps nothing alive.
#[derive(Default)]
pub(super) struct Stirred(Notify);

impl Wake for Stirred {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Looks after idle cells whenever one of them stirs, for as long as the pool exists.
pub(super) async fn watch_idle(pool: Weak<TemplatePool>, stirred: Arc<Stirred>) {
    loop {
        stirred.0.notified().await;
        let Some(pool) = pool.upgrade() else { return };
        pool.bury_the_idle_dead();
    }
}

impl TemplatePool {
    /// Puts a cell into the stock.
    pub(super) fn keep_idle(&self, state: &mut State, mut cell: Box<dyn Cell>) {
        // Registers our waker with it; an idle cell has nothing to say.
        let waker = Waker::from(Arc::clone(&self.stirred));
        if cell.poll_output(&mut Context::from_waker(&waker)).is_ready() {
            self.stirred.0.notify_one();
        }
        state.idle.insert(cell.id(), cell);
    }

    fn bury_the_idle_dead(&self) {
        let mut state = self.lock();
        let waker = Waker::from(Arc::clone(&self.stirred));
        let mut cx = Context::from_waker(&waker);
        let dead: Vec<CellId> = state
            .idle
            .iter_mut()
            .filter_map(|(id, cell)| {
                matches!(cell.poll_output(&mut cx), Poll::Ready(Output::Closed)).then_some(*id)
            })
            .collect();
        for id in dead {
            state.counted.died_idle += 1;
            self.meters.retired.died_idle.increment(1);
            tracing::warn!(sandbox = %self.name, cell = %id, "an idle cell is found dead");
            drop(state.idle.remove(&id));
            let actions = state.slots.died(id);
            self.obey(&mut state, actions, None);
        }
    }
}

impl Drop for TemplatePool {
    fn drop(&mut self) {
        match self.background.is_here() {
            true => self.stirred.0.notify_one(),
            false => self.leave_to_its_process(),
        }
    }
}
