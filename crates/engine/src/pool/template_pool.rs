//! The cells of one template: how many there are, who gets them, and how they all end.
//!
//! `slots` decides and this file obeys. Its neighbours do the parts: `checkout` waits for cells,
//! `making` makes them and replaces a dead zygote, `idle_watch` notices idle cells that die,
//! `lease` takes them back.
//!
//! ```text
//!  open ──► giving out ── stop ──► draining: runs in progress go on ── close ──► ended
//! ```

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use belljar_core::CellId;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::instrument::WithSubscriber as _;

use super::checkout::CheckoutError;
use super::idle_watch::{Stirred, watch_idle};
use super::key::PoolKey;
use super::lease::Given;
use super::locked::{Answer, Letter, Locked};
use super::meters::{Levels, Live, Meters};
use super::options::PoolOptions;
use super::slots::{Action, Refusal, Slots, Ticket};
use crate::cell::Cell;
use crate::engine::{Blueprint, Engine, Template, TemplateReport};
use crate::{Background, EngineError};

/// What a template's pool holds and has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateStats {
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

/// Why a template gives out no more cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nobody holds it any more, or its last holder closed it.
    Closed,
    /// The whole pool is shut down.
    ShutDown,
}

impl Ending {
    pub(super) fn error(self, name: &str) -> CheckoutError {
        match self {
            Self::Closed => CheckoutError::Closed { name: name.to_owned() },
            Self::ShutDown => CheckoutError::ShutDown { name: name.to_owned() },
        }
    }
}

/// The cells of one template. Callers reach it through a [`TemplateHold`](super::TemplateHold).
pub(super) struct TemplatePool {
    pub(super) key: PoolKey,
    pub(super) name: String,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) blueprint: Blueprint,
    pub(super) options: PoolOptions,
    pub(super) meters: Meters,
    report: TemplateReport,
    moment: Duration,
    state: Mutex<State>,
    /// Rung when an idle cell stirs, which it does only to die.
    pub(super) stirred: Arc<Stirred>,
    /// Rung when a cell was made or given back, could not be made, or never will be.
    pub(super) changed: Notify,
    pub(super) reviving: tokio::sync::Mutex<()>,
    /// How many holds there are. Only the registry's lock lets it rise from zero.
    pub(super) holders: AtomicUsize,
    /// One token for each run in progress.
    pub(super) runs: TaskTracker,
    /// Room for cells to measure.
    pub(super) fitted: Arc<Semaphore>,
    /// Cells being made or reset.
    tasks: TaskTracker,
    why_no_more: OnceLock<Ending>,
    /// Cancelled just before the cells are killed, so that runs in progress can say why they ended.
    pub(super) ended: CancellationToken,
    closing: Mutex<()>,
    /// Where cells are made, reset and watched.
    pub(super) background: Background,
    pub(super) me: Weak<Self>,
}

pub(super) struct State {
    pub(super) slots: Slots,
    /// How many idle cells are kept, once it is known what one costs.
    pub(super) stock: Option<usize>,
    /// `None` once it is closed.
    pub(super) template: Option<Arc<dyn Template>>,
    /// Templates that another took the place of, as long as cells of theirs are in use.
    pub(super) replaced: Vec<Weak<dyn Template>>,
    pub(super) idle: HashMap<CellId, Box<dyn Cell>>,
    pub(super) callers: HashMap<Ticket, oneshot::Sender<Answer>>,
    /// Sent when the books are unlocked.
    pub(super) letters: Vec<Letter>,
    pub(super) next_ticket: u64,
    pub(super) last_failure: Option<Arc<EngineError>>,
    pub(super) failures_in_a_row: u32,
    pub(super) counted: TemplateStats,
    levels: Levels,
    /// `None` once it is closed.
    live: Option<Live>,
}

/// How long the stock may be short by a little: longer than most runs take.
const A_MOMENT: Duration = Duration::from_millis(2);
/// How long a cell that is used again is waited for: longer than most runs and resets take, shorter
/// than making another.
const A_RETURN: Duration = Duration::from_millis(30);

impl TemplatePool {
    /// Takes a template over and begins to fill its stock.
    pub(super) fn open(
        background: Background,
        engine: Arc<dyn Engine>,
        blueprint: Blueprint,
        template: Arc<dyn Template>,
        options: PoolOptions,
    ) -> Arc<Self> {
        let stock = blueprint.config.pool_size;
        let come_back = template.cells_come_back();
        // The first cell tells how large the stock may be.
        let slots = Slots::with_cells_that_come_back(
            come_back,
            stock.min(1),
            stock.saturating_add(options.max_overflow),
        );
        let (engine_name, name) = (engine.name(), blueprint.config.name.clone());
        let pool = Arc::new_cyclic(|me| Self {
            key: PoolKey::of(engine_name, &blueprint),
            meters: Meters::new(engine_name, &name),
            report: template.report().clone(),
            moment: if come_back { A_RETURN } else { A_MOMENT },
            state: Mutex::new(State {
                slots,
                stock: None,
                template: Some(template),
                replaced: Vec::new(),
                idle: HashMap::new(),
                callers: HashMap::new(),
                letters: Vec::new(),
                next_ticket: 0,
                last_failure: None,
                failures_in_a_row: 0,
                counted: TemplateStats::default(),
                levels: Levels::new(engine_name, &name),
                live: Some(Live::new(engine_name)),
            }),
            name,
            engine,
            blueprint,
            options,
            stirred: Arc::default(),
            changed: Notify::new(),
            reviving: tokio::sync::Mutex::new(()),
            holders: AtomicUsize::new(0),
            runs: TaskTracker::new(),
            fitted: Arc::new(Semaphore::new(options.max_fitted.clamp(1, Semaphore::MAX_PERMITS))),
            tasks: TaskTracker::new(),
            why_no_more: OnceLock::new(),
            ended: CancellationToken::new(),
            closing: Mutex::default(),
            background,
            me: me.clone(),
        });
        pool.background.handle().spawn(watch_idle(Arc::downgrade(&pool), Arc::clone(&pool.stirred)));
        pool.change(Slots::open);
        pool
    }

    pub(super) fn report(&self) -> &TemplateReport {
        &self.report
    }

    pub(super) fn stats(&self) -> TemplateStats {
        if !self.background.is_here() {
            // A fork has none of it. It may not even look: another thread may have had the books.
            return TemplateStats::default();
        }
        let state = self.lock();
        let slots = &state.slots;
        TemplateStats {
            idle: slots.idle(),
            leased: slots.leased(),
            making: slots.making(),
            waiting: slots.waiting(),
            capacity: slots.capacity(),
            ..state.counted.clone()
        }
    }

    /// Gives out nothing more. Callers in line are refused, idle cells end, runs in progress go on.
    pub(super) fn stop(&self, why: Ending) {
        let _ = self.why_no_more.set(why);
        self.change(Slots::close);
        self.changed.notify_waiters();
    }

    /// Ends every cell, leased ones too, and the zygote. May block for some milliseconds. Whoever
    /// calls it again while it is under way waits for it.
    pub(super) fn close(&self, why: Ending) {
        let _one_at_a_time = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop(why);
        tracing::debug!(sandbox = %self.name, key = ?self.key, ?why, "a template ends");
        self.ended.cancel();
        let templates: Vec<_> = {
            let mut state = self.lock();
            let replaced = std::mem::take(&mut state.replaced);
            state.live = None;
            state.template.take().into_iter().chain(replaced.iter().filter_map(Weak::upgrade)).collect()
        };
        templates.iter().for_each(|template| template.close());
    }

    /// Waits until no cell of a closed template is being made or reset any more.
    pub(super) async fn wait_for_tasks(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Why it gives out no more cells, if so.
    pub(super) fn refusal(&self) -> Option<CheckoutError> {
        if let Err(forked) = self.background.check() {
            return Some(forked.into());
        }
        self.why_no_more.get().map(|why| why.error(&self.name))
    }

    pub(super) fn lock(&self) -> Locked<'_> {
        Locked::new(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Slots) -> Vec<Action>) {
        let mut state = self.lock();
        let actions = change(&mut state.slots);
        self.obey(&mut state, actions, None);
    }

    /// Does what the accounts say. `new` is a cell that is in nobody's hands yet.
    pub(super) fn obey(&self, state: &mut State, actions: Vec<Action>, new: Option<Box<dyn Cell>>) {
        let mut new = new;
        for action in actions {
            match action {
                Action::Make => self.make(state),
                Action::MakeSoon => self.catch_up_in_a_moment(),
                Action::Give { to, cell } => {
                    let cell = new.take_if(|new| new.id() == cell).or_else(|| state.idle.remove(&cell));
                    let cell = cell.expect("the accounts give out cells that are there");
                    let given = Given::new(cell, self.me.upgrade().expect("a pool in use exists"));
                    state.letters.push((state.callers.remove(&to), Ok(given)));
                }
                Action::Destroy { cell } => {
                    drop(new.take_if(|new| new.id() == cell).or_else(|| state.idle.remove(&cell)));
                    self.meters.retired.surplus.increment(1);
                    tracing::debug!(sandbox = %self.name, %cell, "a cell that nobody needs is destroyed");
                }
                Action::Refuse { whom, why } => {
                    let error = match (why, &state.last_failure) {
                        (Refusal::SpawnFailed, Some(failure)) => CheckoutError::Spawn(Arc::clone(failure)),
                        _ => self.refusal().unwrap_or_else(|| Ending::Closed.error(&self.name)),
                    };
                    state.letters.push((state.callers.remove(&whom), Err(error)));
                }
            }
        }
        if let Some(cell) = new {
            self.keep_idle(state, cell);
        }
        state.levels.show(&state.slots);
    }

    fn catch_up_in_a_moment(&self) {
        let (me, moment) = (self.me.clone(), self.moment);
        self.spawn(async move {
            tokio::time::sleep(moment).await;
            if let Some(me) = me.upgrade() {
                me.change(Slots::catch_up);
            }
        });
    }

    /// Begins work that [`Self::wait_for_tasks`] knows of.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Whoever listens to the caller's thread hears of what the call leads to.
        self.tasks.spawn_on(work.with_current_subscriber(), self.background.handle());
    }

    /// In a fork of the process that has them: cells and zygote go on there, so nothing of them may
    /// be ended here. Even closing a descriptor would take it from the reactor, which is shared.
    pub(super) fn leave_to_its_process(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::forget((std::mem::take(&mut state.idle), state.template.take(), Arc::clone(&self.engine)));
    }
}
