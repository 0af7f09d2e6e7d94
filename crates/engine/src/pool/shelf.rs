//! The cells of one template: made ahead, watched while idle, given out in order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use belljar_core::CellId;
use tokio::sync::{Notify, oneshot};

use super::lease::Lease;
use super::sandbox_pool::PoolOptions;
use super::slots::{Action, Refusal, Slots, Ticket};
use crate::EngineError;
use crate::cell::{Cell, Output};
use crate::engine::{Blueprint, Engine, Need, Template, TemplateReport};

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
    /// The pool has been shut down.
    #[error("the pool is shut down: sandbox `{name}` gives out no more cells")]
    Closed {
        /// The sandbox.
        name: String,
    },
}

/// What a shelf holds and has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShelfStats {
    /// Cells ready and waiting.
    pub idle: usize,
    /// Cells in use.
    pub leased: usize,
    /// Cells being made.
    pub making: usize,
    /// Callers in line.
    pub waiting: usize,
    /// How many cells there may be.
    pub capacity: usize,
    /// Cells made since the start.
    pub made: u64,
    /// Attempts to make one that failed.
    pub failed: u64,
    /// Checkouts answered with a cell that was idle.
    pub warm: u64,
    /// Checkouts that had to wait for one to be made or to come free.
    pub waited: u64,
    /// Idle cells found dead.
    pub died_idle: u64,
    /// Zygotes that were replaced.
    pub revived: u64,
    /// Why the last of them was.
    pub last_revival: Option<String>,
}

/// The cells of one template.
pub struct Shelf {
    name: String,
    engine: Arc<dyn Engine>,
    blueprint: Blueprint,
    options: PoolOptions,
    report: TemplateReport,
    moment: Duration,
    state: Mutex<State>,
    /// Rung when an idle cell stirs, which it does only to die.
    stirred: Arc<Stirred>,
    /// Rung when a cell was made, or could not be.
    changed: Notify,
    reviving: tokio::sync::Mutex<()>,
    me: Weak<Self>,
}

struct State {
    slots: Slots,
    /// How many idle cells are kept, once it is known what one costs.
    stock: Option<usize>,
    template: Option<Arc<dyn Template>>,
    /// Templates that another took the place of, as long as cells of theirs are in use.
    replaced: Vec<Weak<dyn Template>>,
    idle: HashMap<CellId, Box<dyn Cell>>,
    callers: HashMap<Ticket, oneshot::Sender<Result<Lease, CheckoutError>>>,
    next_ticket: u64,
    last_failure: Option<Arc<EngineError>>,
    failures_in_a_row: u32,
    counted: ShelfStats,
}

/// A waker for idle cells that keeps nothing alive.
#[derive(Default)]
struct Stirred(Notify);

impl Wake for Stirred {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// How long the stock may be short by a little: longer than most runs take.
const A_MOMENT: Duration = Duration::from_millis(2);
/// How long a cell that is used again is waited for: longer than most runs and resets take, shorter than making another.
const A_RETURN: Duration = Duration::from_millis(30);

/// After a failed attempt to make a cell, how long until the next one that no caller asked for.
const BACK_OFF: Duration = Duration::from_millis(100);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);

impl Shelf {
    /// Puts a template on a shelf and begins to fill it.
    pub fn open(
        engine: Arc<dyn Engine>,
        blueprint: Blueprint,
        template: Arc<dyn Template>,
        options: PoolOptions,
    ) -> Arc<Self> {
        let stock = blueprint.config.pool_size;
        let come_back = template.cells_come_back();
        let shelf = Arc::new_cyclic(|me| Self {
            name: blueprint.config.name.clone(),
            engine,
            report: template.report().clone(),
            moment: if come_back { A_RETURN } else { A_MOMENT },
            state: Mutex::new(State {
                // The first cell tells how large the stock may be.
                slots: Slots::with_cells_that_come_back(
                    come_back,
                    stock.min(1),
                    stock + options.max_overflow,
                ),
                stock: None,
                template: Some(template),
                replaced: Vec::new(),
                idle: HashMap::new(),
                callers: HashMap::new(),
                next_ticket: 0,
                last_failure: None,
                failures_in_a_row: 0,
                counted: ShelfStats::default(),
            }),
            blueprint,
            options,
            stirred: Arc::default(),
            changed: Notify::new(),
            reviving: tokio::sync::Mutex::new(()),
            me: me.clone(),
        });
        tokio::spawn(watch_idle(Arc::downgrade(&shelf), Arc::clone(&shelf.stirred)));
        shelf.change(Slots::open);
        shelf
    }

    /// The sandbox's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What came of making the template ready.
    pub fn report(&self) -> &TemplateReport {
        &self.report
    }

    /// A cell that has never run anything, in turn. Dropping the future gives the place in line up.
    pub async fn checkout(&self) -> Result<Lease, CheckoutError> {
        let (ticket, answer) = {
            let mut state = self.lock();
            state.next_ticket += 1;
            let ticket = Ticket(state.next_ticket);
            let (caller, answer) = oneshot::channel();
            state.callers.insert(ticket, caller);
            let warm = state.slots.idle() > 0;
            let counted = &mut state.counted;
            *(if warm { &mut counted.warm } else { &mut counted.waited }) += 1;
            let actions = state.slots.checkout(ticket);
            self.obey(&mut state, actions, None);
            (ticket, answer)
        };
        let place = PlaceInLine { shelf: self, ticket };
        let given = answer.await;
        drop(place);
        given.unwrap_or_else(|_| Err(CheckoutError::Closed { name: self.name.clone() }))
    }

    /// The same, for callers who will not wait longer.
    pub async fn checkout_within(&self, within: Duration) -> Result<Lease, CheckoutError> {
        match tokio::time::timeout(within, self.checkout()).await {
            Ok(given) => given,
            Err(_) => {
                let state = self.lock();
                let (in_use, capacity) = (state.slots.leased(), state.slots.capacity());
                Err(CheckoutError::TimedOut { name: self.name.clone(), within, in_use, capacity })
            }
        }
    }

    /// Makes `count` cells ready ahead of need, this once, or as many as there may be. Fails when one cannot be made.
    pub async fn fill(&self, count: usize) -> Result<(), CheckoutError> {
        let usual = self.lock().stock.unwrap_or(0);
        self.change(|slots| slots.set_stock(count.max(usual)));
        let filled = self.wait_for_idle(count).await;
        let usual = self.lock().stock.unwrap_or(0);
        self.change(|slots| slots.set_stock(usual));
        filled
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
    pub async fn at_rest(&self) {
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

    /// What it holds and has done.
    pub fn stats(&self) -> ShelfStats {
        let state = self.lock();
        let slots = &state.slots;
        ShelfStats {
            idle: slots.idle(),
            leased: slots.leased(),
            making: slots.making(),
            waiting: slots.waiting(),
            capacity: slots.capacity(),
            ..state.counted.clone()
        }
    }

    /// Gives out nothing more and ends every cell, leased ones too.
    pub fn close(&self) {
        self.change(Slots::close);
        let templates: Vec<_> = {
            let mut state = self.lock();
            let replaced = std::mem::take(&mut state.replaced);
            state.template.take().into_iter().chain(replaced.iter().filter_map(Weak::upgrade)).collect()
        };
        templates.iter().for_each(|template| template.close());
    }

    pub(super) fn spent(&self, cell: CellId) {
        self.change(|slots| slots.spent(cell));
        self.changed.notify_waiters();
    }

    /// Resets a cell that may be used again, off its last user's path, and puts it back if that leaves no doubt.
    pub(super) fn take_back(&self, mut cell: Box<dyn Cell>) {
        let Some(me) = self.me.upgrade() else { return };
        tokio::spawn(async move {
            let id = cell.id();
            if cell.reset().await {
                {
                    let mut state = me.lock();
                    let actions = state.slots.returned(id);
                    me.obey(&mut state, actions, Some(cell));
                }
                me.changed.notify_waiters();
            } else {
                drop(cell);
                me.spent(id);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Slots) -> Vec<Action>) {
        let mut state = self.lock();
        let actions = change(&mut state.slots);
        self.obey(&mut state, actions, None);
    }

    /// Does what the accounts say. `new` is a cell that is in nobody's hands yet.
    fn obey(&self, state: &mut State, actions: Vec<Action>, new: Option<Box<dyn Cell>>) {
        let mut new = new;
        let mut again = Vec::new();
        for action in actions {
            match action {
                Action::Make => self.make(state),
                Action::MakeSoon => self.catch_up_in_a_moment(),
                Action::Give { to, cell } => {
                    let held = new.take_if(|new| new.id() == cell).or_else(|| state.idle.remove(&cell));
                    let held = held.expect("the accounts give out cells that are there");
                    let caller = state.callers.remove(&to);
                    let me = self.me.upgrade().expect("a shelf in use exists");
                    let undelivered = match caller {
                        Some(caller) => caller.send(Ok(Lease::new(held, me))).err().and_then(Result::ok),
                        None => Some(Lease::new(held, me)),
                    };
                    // Its caller gave up just now. A lease dropped here would lock what is locked already.
                    again.extend(undelivered);
                }
                Action::Destroy { cell } => {
                    drop(new.take_if(|new| new.id() == cell).or_else(|| state.idle.remove(&cell)));
                }
                Action::Refuse { whom, why } => {
                    let error = match (why, &state.last_failure) {
                        (Refusal::SpawnFailed, Some(failure)) => CheckoutError::Spawn(Arc::clone(failure)),
                        _ => CheckoutError::Closed { name: self.name.clone() },
                    };
                    if let Some(caller) = state.callers.remove(&whom) {
                        let _ = caller.send(Err(error));
                    }
                }
            }
        }
        if let Some(mut cell) = new {
            // Registers our waker with it; an idle cell has nothing to say.
            let waker = Waker::from(Arc::clone(&self.stirred));
            if cell.poll_output(&mut Context::from_waker(&waker)).is_ready() {
                self.stirred.0.notify_one();
            }
            state.idle.insert(cell.id(), cell);
        }
        if !again.is_empty() {
            tokio::spawn(async move { drop(again) });
        }
    }

    fn catch_up_in_a_moment(&self) {
        let (me, moment) = (self.me.clone(), self.moment);
        tokio::spawn(async move {
            tokio::time::sleep(moment).await;
            if let Some(me) = me.upgrade() {
                me.change(Slots::catch_up);
            }
        });
    }

    fn make(&self, state: &State) {
        let Some(me) = self.me.upgrade() else { return };
        let template = state.template.clone();
        let need = if state.slots.waiting() > 0 { Need::Now } else { Need::Later };
        tokio::spawn(async move {
            match me.make_one(template, need).await {
                Ok(cell) => me.made(cell),
                Err(error) => me.making_failed(error).await,
            }
        });
    }

    /// One cell, from the template or, when its zygote is gone, from the one that takes its place. Whoever waits need not know.
    async fn make_one(
        &self,
        template: Option<Arc<dyn Template>>,
        need: Need,
    ) -> Result<Box<dyn Cell>, EngineError> {
        let closed = || EngineError::TemplateGone { name: self.name.clone(), last_words: String::new() };
        let template = template.ok_or_else(closed)?;
        match template.spawn(need).await {
            Err(gone @ EngineError::TemplateGone { .. }) => {
                self.revive(&template, &gone).await?.ok_or_else(closed)?.spawn(need).await
            }
            made => made,
        }
    }

    fn made(&self, cell: Box<dyn Cell>) {
        let mut state = self.lock();
        state.counted.made += 1;
        state.failures_in_a_row = 0;
        state.last_failure = None;
        if state.stock.is_none() {
            let stock = self.affordable_stock(cell.as_ref());
            state.stock = Some(stock);
            let more = state.slots.set_stock(stock);
            self.obey(&mut state, more, None);
        }
        let actions = state.slots.made(cell.id());
        self.obey(&mut state, actions, Some(cell));
        drop(state);
        self.changed.notify_waiters();
    }

    /// As many as the config asks for, or as fit under the ceiling on memory.
    fn affordable_stock(&self, cell: &dyn Cell) -> usize {
        // Where nothing counts it: what an idle cell was measured to hold, rounded up.
        const ASSUMED: u64 = 4 << 20;
        let each = cell.usage().peak_memory_bytes.unwrap_or(ASSUMED).max(1);
        let (asked, most) = (self.blueprint.config.pool_size, self.options.max_idle_memory / each);
        let stock = asked.min(usize::try_from(most).unwrap_or(usize::MAX));
        if stock < asked {
            tracing::warn!(sandbox = %self.name, asked, stock, each, "the stock is kept small: idle cells would hold too much memory");
        }
        stock
    }

    /// Tells one caller, and tries again to fill the stock after a while.
    async fn making_failed(&self, error: EngineError) {
        let pause = {
            let mut state = self.lock();
            tracing::warn!(sandbox = %self.name, %error, "a cell could not be made");
            state.counted.failed += 1;
            state.failures_in_a_row += 1;
            state.last_failure = Some(Arc::new(error));
            BACK_OFF.saturating_mul(1 << state.failures_in_a_row.min(10)).min(LONGEST_BACK_OFF)
        };
        self.change(Slots::making_failed);
        self.changed.notify_waiters();
        tokio::time::sleep(pause).await;
        self.change(Slots::resume_stock);
    }

    /// The template in the place of one whose zygote is gone: made now, or by somebody who found out before; `None` when the shelf is closed.
    async fn revive(
        &self,
        dead: &Arc<dyn Template>,
        why: &EngineError,
    ) -> Result<Option<Arc<dyn Template>>, EngineError> {
        let _one_at_a_time = self.reviving.lock().await;
        let present = self.lock().template.clone();
        if !present.as_ref().is_some_and(|present| Arc::ptr_eq(present, dead)) {
            return Ok(present);
        }
        tracing::warn!(sandbox = %self.name, %why, "a zygote is replaced");
        let template = self.engine.prepare(&self.blueprint, &mut |_| {}).await?;
        let mut state = self.lock();
        if state.template.is_none() {
            template.close();
            return Ok(None);
        }
        state.template = Some(Arc::clone(&template));
        state.replaced.retain(|replaced| replaced.strong_count() > 0);
        state.replaced.push(Arc::downgrade(dead));
        state.counted.revived += 1;
        state.counted.last_revival = Some(why.to_string());
        Ok(Some(template))
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
            drop(state.idle.remove(&id));
            let actions = state.slots.died(id);
            self.obey(&mut state, actions, None);
        }
    }
}

/// A caller who stops waiting gives up the place, whatever made them stop.
struct PlaceInLine<'a> {
    shelf: &'a Shelf,
    ticket: Ticket,
}

impl Drop for PlaceInLine<'_> {
    fn drop(&mut self) {
        let mut state = self.shelf.lock();
        if state.callers.remove(&self.ticket).is_some() {
            let actions = state.slots.cancel(self.ticket);
            self.shelf.obey(&mut state, actions, None);
        }
    }
}

/// Looks after idle cells whenever one of them stirs, for as long as the shelf stands.
async fn watch_idle(shelf: Weak<Shelf>, stirred: Arc<Stirred>) {
    loop {
        stirred.0.notified().await;
        let Some(shelf) = shelf.upgrade() else { return };
        shelf.bury_the_idle_dead();
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.stirred.0.notify_one();
    }
}
