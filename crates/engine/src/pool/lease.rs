//! Exclusive use of a cell.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use belljar_core::CellId;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::field::Empty;
use tracing::{Instrument, debug_span};

use super::checkout::CheckoutError;
use super::hold::TemplateHold;
use super::template_pool::TemplatePool;
use crate::InProcess;
use crate::cell::Cell;

/// A cell for the time being.
///
/// Dropping the lease lets the next caller have its place. It destroys the cell, unless the cell
/// can be used again and whoever held it vouches for a clean end.
///
/// A lease is part of the hold it was checked out with: the template lives as long as the lease
/// does, unless that hold is closed.
pub struct Lease {
    /// Before the hold: the cell goes first.
    given: Given,
    hold: TemplateHold,
}

/// Something runs in a leased cell. A pool that is shut down waits for these until its deadline.
#[must_use = "what runs is in progress as long as this is held"]
pub struct InProgress(#[expect(dead_code, reason = "counts while it exists")] InProcess<TaskTrackerToken>);

impl Lease {
    pub(super) fn new(given: Given, hold: TemplateHold) -> Self {
        Self { given, hold }
    }

    /// The cell without the hold.
    pub(super) fn into_given(self) -> Given {
        self.given
    }

    /// The cell's name.
    pub fn id(&self) -> CellId {
        self.given.id
    }

    /// The cell.
    pub fn cell(&mut self) -> &mut dyn Cell {
        self.given.cell.as_deref_mut().expect("only a dropped lease has no cell")
    }

    /// Says that something begins to run in the cell. Refused once the hold is closed or the pool
    /// is shut down.
    pub fn begin(&self) -> Result<InProgress, CheckoutError> {
        let in_progress = InProgress(InProcess::new(self.given.pool.runs.token()));
        self.hold.check()?;
        self.given.is_running.store(true, Ordering::Relaxed);
        Ok(in_progress)
    }

    /// Says that what ran in it is over, and that the cell is kept for more.
    pub fn pause(&self) {
        self.given.is_running.store(false, Ordering::Relaxed);
    }

    /// Says that what ran in it ended in good order. Without this word a cell is never used again.
    pub fn vouch(&mut self) {
        self.given.ended_cleanly = true;
    }

    /// What it was checked out with.
    pub fn hold(&self) -> &TemplateHold {
        &self.hold
    }
}

/// A cell on its way to a caller. Dropping it gives the cell back.
pub(super) struct Given {
    /// `None` only while being dropped.
    cell: Option<Box<dyn Cell>>,
    id: CellId,
    pool: Arc<TemplatePool>,
    /// Whether something began to run in it, and nobody has said that it is over.
    is_running: AtomicBool,
    ended_cleanly: bool,
}

impl Given {
    pub(super) fn new(cell: Box<dyn Cell>, pool: Arc<TemplatePool>) -> Self {
        let is_running = AtomicBool::new(false);
        Self { id: cell.id(), cell: Some(cell), pool, is_running, ended_cleanly: false }
    }

    /// Counts a cell that is destroyed, by why it is not used again.
    fn count_retired(&self, uses_left: u32) {
        let retired = &self.pool.meters.retired;
        let reason = match self.is_running.load(Ordering::Relaxed) && uses_left > 0 {
            true => &retired.cut_short,
            false => &retired.used,
        };
        reason.increment(1);
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        let Some(cell) = self.cell.take() else { return };
        if !self.pool.background.is_here() {
            std::mem::forget(Arc::clone(&self.pool));
            return std::mem::forget(cell);
        }
        if self.ended_cleanly && cell.uses_left() > 0 {
            tracing::debug!(cell = %self.id, place = cell.place(), "the cell is given back");
            self.pool.take_back(cell);
        } else {
            self.count_retired(cell.uses_left());
            tracing::debug!(cell = %self.id, place = cell.place(), "the cell is destroyed");
            // The cell first: it goes to the reaper, and by the time another is made in its place
            // it is being killed.
            drop(cell);
            self.pool.spent(self.id);
        }
    }
}

impl TemplatePool {
    /// A leased cell is done with and fit for nobody else.
    fn spent(&self, cell: CellId) {
        self.change(|slots| slots.spent(cell));
        self.changed.notify_waiters();
    }

    /// Resets a cell that may be used again, off its last user's path. Puts it back if that leaves
    /// no doubt.
    fn take_back(&self, mut cell: Box<dyn Cell>) {
        let Some(me) = self.me.upgrade() else { return };
        let id = cell.id();
        let span = debug_span!(
            parent: None,
            "cell.reset",
            sandbox = %self.name,
            template = ?self.key,
            cell = %id,
            place = cell.place(),
            verdict = Empty,
            ms = Empty
        );
        self.spawn(async move {
            let began = Instant::now();
            let outcome = tokio::select! {
                as_good_as_new = cell.reset().instrument(span.clone()) => match as_good_as_new {
                    true => Reset::AsGoodAsNew,
                    false => Reset::InDoubt,
                },
                () = me.ended.cancelled() => Reset::NotNeeded,
            };
            span.record("verdict", outcome.name()).record("ms", began.elapsed().as_secs_f64() * 1e3);
            tracing::debug!(parent: &span, "a cell was reset");
            match outcome {
                Reset::AsGoodAsNew => {
                    me.meters.reset.increment(1);
                    {
                        let mut state = me.lock();
                        let actions = state.slots.returned(id);
                        me.obey(&mut state, actions, Some(cell));
                    }
                    me.changed.notify_waiters();
                    return;
                }
                Reset::InDoubt => me.meters.retired.in_doubt.increment(1),
                Reset::NotNeeded => me.meters.retired.surplus.increment(1),
            }
            drop(cell);
            me.spent(id);
        });
    }
}

/// What came of a reset.
#[derive(Clone, Copy)]
enum Reset {
    AsGoodAsNew,
    /// Something of the last use may be left.
    InDoubt,
    /// The template ended meanwhile.
    NotNeeded,
}

impl Reset {
    /// Its name in the span `cell.reset`.
    fn name(self) -> &'static str {
        match self {
            Self::AsGoodAsNew => "as_good_as_new",
            Self::InDoubt => "in_doubt",
            Self::NotNeeded => "not_needed",
        }
    }
}
