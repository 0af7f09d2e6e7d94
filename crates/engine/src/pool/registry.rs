//! All live templates of a pool: one for each key, prepared once, known until its end.
//!
//! ```text
//!          open                     prepared         last hold dropped
//!  (none) ──────► preparing ──────────────────► held ◄───────────────► kept warm
//!                 │ nobody waits any more        │ closed              │ time over, room needed
//!                 ▼                              ▼                     ▼
//!              (none)                          ending ──────────────► (none)
//! ```
//!
//! * `preparation` makes concurrent opens of one key prepare once.
//! * `retention` decides which templates stay warm.
//! * `shutdown` ends them all, those that are ending already too.
//!
//! Locks: whoever has the registry's lock takes no template pool's lock, so templates are ended
//! after it is let go of.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::instrument::WithSubscriber as _;

use super::hold::TemplateHold;
use super::key::PoolKey;
use super::options::PoolOptions;
use super::preparation::{OpenError, Preparation, Waiter};
use super::retention::Retention;
use super::shutdown::end;
use super::template_pool::{Ending, TemplatePool, TemplateStats};
use crate::engine::{Blueprint, Engine};
use crate::{Background, Progress};

/// A template that is there, or about to be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LiveTemplate {
    /// What tells it from others.
    pub key: PoolKey,
    /// The name of its config. Two templates may have the same.
    pub name: String,
    /// Whether somebody holds it or waits for it. One that nobody holds is kept warm for a while.
    pub is_held: bool,
    /// What it holds and has done; `None` while it is being prepared.
    pub stats: Option<TemplateStats>,
}

pub(super) struct Registry {
    /// Where templates are prepared and ended.
    pub(super) background: Background,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) options: PoolOptions,
    state: Mutex<State>,
    /// Cancelled by `shutdown`: whatever is being prepared stops.
    pub(super) stopping: CancellationToken,
    /// Templates being prepared, and templates being ended.
    pub(super) work: TaskTracker,
    /// Rung when it may be time to look for templates whose time is over.
    released: Arc<Notify>,
    pub(super) me: Weak<Self>,
}

pub(super) struct State {
    pub(super) entries: HashMap<PoolKey, Entry>,
    pub(super) retention: Retention,
    /// Templates that are no entries any more and may not be gone yet.
    pub(super) ending: Vec<Weak<TemplatePool>>,
    pub(super) is_shut_down: bool,
    /// Whether somebody ends templates whose time is over.
    has_janitor: bool,
}

pub(super) enum Entry {
    Preparing(Arc<Preparation>),
    Ready(Arc<TemplatePool>),
}

impl Registry {
    pub(super) fn new(background: Background, engine: Arc<dyn Engine>, options: PoolOptions) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            background,
            engine,
            options,
            state: Mutex::new(State {
                entries: HashMap::new(),
                retention: Retention::new(options.max_templates, options.keep_warm),
                ending: Vec::new(),
                is_shut_down: false,
                has_janitor: false,
            }),
            stopping: CancellationToken::new(),
            work: TaskTracker::new(),
            released: Arc::default(),
            me: me.clone(),
        })
    }

    /// A hold on the template of a blueprint. One that is live is shared, one that is being
    /// prepared is waited for.
    pub(super) async fn open(
        &self,
        blueprint: Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<TemplateHold, OpenError> {
        let key = PoolKey::of(self.engine.name(), &blueprint);
        loop {
            let waiter = match self.find_or_begin(&key, &blueprint)? {
                Found::Live(hold) => return Ok(hold),
                Found::Preparing(waiter) => waiter,
            };
            if let Some(outcome) = waiter.outcome(progress).await {
                return outcome;
            }
            // All who waited for it had given up just before, and it with them.
        }
    }

    fn find_or_begin(&self, key: &PoolKey, blueprint: &Blueprint) -> Result<Found, OpenError> {
        self.background.check()?;
        let mut state = self.lock();
        if state.is_shut_down {
            return Err(OpenError::ShutDown);
        }
        self.look_after_the_warm(&mut state);
        let found = match state.entries.get(key) {
            Some(Entry::Ready(pool)) => Found::Live(TemplateHold::new(pool, self.me.clone())),
            Some(Entry::Preparing(preparation)) => Found::Preparing(preparation.join()),
            None => {
                let preparation = Preparation::new(&blueprint.config.name);
                let waiter = preparation.join();
                state.entries.insert(key.clone(), Entry::Preparing(Arc::clone(&preparation)));
                let gone = state.retention.hold(key);
                let in_the_way = state.take_out(&gone);
                let me = self.me.upgrade().expect("a registry in use exists");
                let prepare = me.prepare(key.clone(), blueprint.clone(), preparation, in_the_way);
                self.work.spawn_on(prepare.with_current_subscriber(), self.background.handle());
                return Ok(Found::Preparing(waiter));
            }
        };
        // No more than there were: nothing has to go for it.
        let gone = state.retention.hold(key);
        debug_assert!(gone.is_empty(), "{gone:?} had to go for a template that was there");
        Ok(found)
    }

    /// What is live or being prepared.
    pub(super) fn templates(&self) -> Vec<LiveTemplate> {
        if !self.background.is_here() {
            return Vec::new();
        }
        let entries: Vec<_> = {
            let state = self.lock();
            let pool = |entry: &Entry| match entry {
                Entry::Preparing(preparation) => Err(preparation.name.clone()),
                Entry::Ready(pool) => Ok(Arc::clone(pool)),
            };
            state.entries.iter().map(|(key, entry)| (key.clone(), pool(entry))).collect()
        };
        let describe = |(key, entry): (PoolKey, Result<Arc<TemplatePool>, String>)| match entry {
            Err(name) => LiveTemplate { key, name, is_held: true, stats: None },
            Ok(pool) => LiveTemplate {
                key,
                name: pool.name.clone(),
                is_held: pool.holders.load(Ordering::SeqCst) > 0,
                stats: Some(pool.stats()),
            },
        };
        entries.into_iter().map(describe).collect()
    }

    /// The last hold on a template was dropped.
    pub(super) fn keep_warm(&self, pool: &Arc<TemplatePool>) {
        let ending = {
            let mut state = self.lock();
            if state.is_shut_down || !state.is_unheld(pool) {
                return;
            }
            let gone = state.retention.release(&pool.key, Instant::now());
            state.take_out(&gone)
        };
        self.end_soon(ending);
        self.released.notify_one();
    }

    /// The last hold on a template was closed. Waits until it is gone.
    pub(super) async fn end_unless_held(&self, pool: &Arc<TemplatePool>) {
        let ending = {
            let mut state = self.lock();
            if !state.is_unheld(pool) {
                return;
            }
            state.take_out(std::slice::from_ref(&pool.key))
        };
        for pool in ending {
            end(pool, Ending::Closed).await;
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that the janitor is there.
    fn look_after_the_warm(&self, state: &mut State) {
        if !std::mem::replace(&mut state.has_janitor, true) {
            let (me, released) = (self.me.clone(), Arc::clone(&self.released));
            self.background.handle().spawn(end_what_is_over(me, released));
        }
    }

    fn end_expired(&self) -> Option<Instant> {
        let (ending, next) = {
            let mut state = self.lock();
            let gone = state.retention.expired(Instant::now());
            (state.take_out(&gone), state.retention.next_expiry())
        };
        self.end_soon(ending);
        next
    }
}

enum Found {
    Live(TemplateHold),
    Preparing(Waiter),
}

impl State {
    /// Whether this template is an entry that nobody holds. Somebody may have opened it again just
    /// now.
    fn is_unheld(&self, pool: &Arc<TemplatePool>) -> bool {
        let is_entry =
            matches!(self.entries.get(&pool.key), Some(Entry::Ready(present)) if Arc::ptr_eq(present, pool));
        is_entry && pool.holders.load(Ordering::SeqCst) == 0
    }

    /// Takes templates out of the books, for the caller to end. Until they are gone they are known
    /// as ending.
    #[must_use]
    fn take_out(&mut self, keys: &[PoolKey]) -> Vec<Arc<TemplatePool>> {
        self.ending.retain(|ending| ending.strong_count() > 0);
        let mut taken = Vec::new();
        for key in keys {
            self.retention.forget(key);
            if let Some(Entry::Ready(pool)) = self.entries.remove(key) {
                self.ending.push(Arc::downgrade(&pool));
                taken.push(pool);
            }
        }
        taken
    }
}

/// Ends templates whose time is over, for as long as the registry exists.
async fn end_what_is_over(registry: Weak<Registry>, released: Arc<Notify>) {
    loop {
        let Some(next) = registry.upgrade().map(|registry| registry.end_expired()) else { return };
        let sleep = async {
            match next {
                Some(next) => tokio::time::sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = sleep => {}
            () = released.notified() => {}
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.released.notify_one();
    }
}
