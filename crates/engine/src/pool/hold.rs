//! A share in a live template. A template that somebody holds stays.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::checkout::CheckoutError;
use super::key::PoolKey;
use super::lease::Lease;
use super::registry::Registry;
use super::shutdown::end;
use super::template_pool::{Ending, TemplatePool, TemplateStats};
use crate::cell::Cell;
use crate::engine::{Fitting, TemplateReport};
use crate::{Background, InProcess};

/// A share in a live template, from which cells are checked out.
///
/// Clones and leases are parts of one hold: it ends when the last of them is dropped, or for all of
/// them with [`Self::close`]. A template that nobody holds any more is kept warm for a while
/// ([`PoolOptions::keep_warm`](super::PoolOptions::keep_warm)).
#[derive(Clone)]
pub struct TemplateHold(Arc<Inner>);

struct Inner {
    pool: Arc<TemplatePool>,
    /// Not kept alive by those who hold templates: without a registry nothing is kept warm.
    registry: Weak<Registry>,
    /// Cancelled when this hold is closed, and when the template ends.
    closed: InProcess<CancellationToken>,
    /// Whether the template still counts this hold.
    is_released: AtomicBool,
}

impl TemplateHold {
    /// Another hold on a template. Only under the registry's lock, or where no registry knows the
    /// template.
    pub(super) fn new(pool: &Arc<TemplatePool>, registry: Weak<Registry>) -> Self {
        pool.holders.fetch_add(1, Ordering::SeqCst);
        Self::counted(pool, registry)
    }

    fn counted(pool: &Arc<TemplatePool>, registry: Weak<Registry>) -> Self {
        Self(Arc::new(Inner {
            pool: Arc::clone(pool),
            registry,
            closed: InProcess::new(pool.ended.child_token()),
            is_released: AtomicBool::new(false),
        }))
    }

    /// A hold of its own on the same template: closing one leaves the other. Refused once this one
    /// is closed.
    pub fn share(&self) -> Result<Self, CheckoutError> {
        self.check()?;
        let one_more = |holders: usize| (holders > 0).then_some(holders + 1);
        let counted = self.0.pool.holders.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        // Closed by another thread just now.
        counted.map_err(|_| Ending::Closed.error(self.name()))?;
        Ok(Self::counted(&self.0.pool, Weak::clone(&self.0.registry)))
    }

    /// The sandbox's name.
    pub fn name(&self) -> &str {
        &self.0.pool.name
    }

    /// Where its cells are made and watched.
    pub fn background(&self) -> &Background {
        &self.0.pool.background
    }

    /// What tells this template from others.
    pub fn key(&self) -> &PoolKey {
        &self.0.pool.key
    }

    /// What came of making the template ready.
    pub fn report(&self) -> &TemplateReport {
        self.0.pool.report()
    }

    /// What the template holds and has done, for all of its holders.
    pub fn stats(&self) -> TemplateStats {
        self.0.pool.stats()
    }

    /// A cell that has never run anything, in turn. Dropping the future gives the place in line up.
    pub async fn checkout(&self) -> Result<Lease, CheckoutError> {
        self.check()?;
        let given = self.unless_closed(self.0.pool.checkout()).await?;
        Ok(Lease::new(given, self.clone()))
    }

    /// The same, for callers who will not wait longer.
    pub async fn checkout_within(&self, within: Duration) -> Result<Lease, CheckoutError> {
        self.check()?;
        let given = self.unless_closed(self.0.pool.checkout_within(within)).await?;
        Ok(Lease::new(given, self.clone()))
    }

    /// A cell that has never run anything, for one that is given up. The place stays the
    /// caller's: nobody who waits gets a cell because of it.
    pub async fn exchange(&self, lease: Lease) -> Result<Lease, CheckoutError> {
        self.check()?;
        let given = self.unless_closed(self.0.pool.exchange(lease.into_given())).await?;
        Ok(Lease::new(given, self.clone()))
    }

    /// A cell to measure, made now. It is not taken from the stock, and no place of the stock is
    /// waited for: at most [`PoolOptions::max_fitted`](super::PoolOptions::max_fitted) of them are
    /// there at the same time, and the next caller waits in line.
    pub async fn fitted(&self, fitting: &Fitting) -> Result<FittedLease, CheckoutError> {
        self.check()?;
        let made = async {
            let room = Arc::clone(&self.0.pool.fitted).acquire_owned().await;
            let room = room.map_err(|_| Ending::Closed.error(self.name()))?;
            let cell = self.0.pool.make_fitted(fitting).await.map_err(|error| {
                self.0.pool.refusal().unwrap_or_else(|| CheckoutError::Spawn(Arc::new(error)))
            })?;
            Ok((cell, room))
        };
        let (cell, room) = self.unless_closed(made).await?;
        let in_progress = InProcess::new(self.0.pool.runs.token());
        Ok(FittedLease { cell: Some(cell), _room: room, _in_progress: in_progress, hold: self.clone() })
    }

    /// Makes `count` cells ready ahead of need, this once, or as many as there may be. Fails when
    /// one cannot be made.
    pub async fn fill(&self, count: usize) -> Result<(), CheckoutError> {
        self.check()?;
        self.unless_closed(self.0.pool.fill(count)).await
    }

    /// Waits until the stock is full.
    pub(super) async fn wait_until_stocked(&self) -> Result<(), CheckoutError> {
        self.unless_closed(self.0.pool.wait_until_stocked()).await
    }

    /// Waits until no cell of the template is in use, and those that come back are as good as new
    /// again.
    pub async fn at_rest(&self) {
        // In a fork nothing runs.
        let _ = self.background().serve(self.0.pool.at_rest()).await;
    }

    /// An error once nothing more may begin: this hold is closed, or the pool is shut down or about
    /// to be.
    pub fn check(&self) -> Result<(), CheckoutError> {
        match self.0.pool.refusal() {
            Some(refusal) => Err(refusal),
            None if self.0.is_released.load(Ordering::SeqCst) => Err(Ending::Closed.error(self.name())),
            None => Ok(()),
        }
    }

    /// Waits until what is in progress has to end, and tells why: this hold was closed, or the pool
    /// is shut down.
    pub async fn closed(&self) -> CheckoutError {
        self.0.closed.cancelled().await;
        self.0.pool.refusal().unwrap_or_else(|| Ending::Closed.error(self.name()))
    }

    /// Gives the hold up, for its clones and leases too. A template that nobody else holds ends at
    /// once, and this waits until it has; one that somebody else holds goes on.
    pub async fn close(&self) {
        // In a fork there is nothing to give up: the cells are another process's.
        let _ = self.background().serve(self.give_up()).await;
    }

    async fn give_up(&self) {
        self.0.closed.cancel();
        if !self.0.release() {
            return;
        }
        match self.0.registry.upgrade() {
            Some(registry) => registry.end_unless_held(&self.0.pool).await,
            None => end(Arc::clone(&self.0.pool), Ending::Closed).await,
        }
    }

    async fn unless_closed<T>(
        &self,
        work: impl Future<Output = Result<T, CheckoutError>>,
    ) -> Result<T, CheckoutError> {
        let work = async {
            tokio::select! {
                biased;
                done = work => done,
                why = self.closed() => Err(why),
            }
        };
        self.background().serve(work).await?
    }
}

/// A cell to measure. It is destroyed when this is dropped. The template lives as long as this
/// does, unless the hold is closed.
pub struct FittedLease {
    /// `None` only while being dropped.
    cell: Option<Box<dyn Cell>>,
    _room: OwnedSemaphorePermit,
    /// A pool that is shut down waits for it until its deadline.
    _in_progress: InProcess<TaskTrackerToken>,
    hold: TemplateHold,
}

impl FittedLease {
    /// The cell.
    pub fn cell(&mut self) -> &mut dyn Cell {
        self.cell.as_deref_mut().expect("only a dropped lease has no cell")
    }

    /// What it was made with.
    pub fn hold(&self) -> &TemplateHold {
        &self.hold
    }
}

impl Drop for FittedLease {
    fn drop(&mut self) {
        // In a fork it is another process's.
        if !self.hold.background().is_here() {
            std::mem::forget(self.cell.take());
        }
    }
}

impl Inner {
    /// Whether this was the last hold on the template, and is one no more.
    fn release(&self) -> bool {
        !self.is_released.swap(true, Ordering::SeqCst)
            && self.pool.holders.fetch_sub(1, Ordering::SeqCst) == 1
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.pool.background.is_here() {
            // Without the last reference it stays as it is: it is another process's.
            return std::mem::forget(Arc::clone(&self.pool));
        }
        if self.release()
            && let Some(registry) = self.registry.upgrade()
        {
            registry.keep_warm(&self.pool);
        }
    }
}

impl fmt::Debug for TemplateHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateHold")
            .field("name", &self.name())
            .field("key", self.key())
            .finish_non_exhaustive()
    }
}
