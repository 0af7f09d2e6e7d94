//! Which workspace an id has, and what is being done about it. Nothing here waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::tasks::{Tasks, Waiting};
use super::{Entry, Key, RegistryOptions, WorkspaceHandle};
use crate::{Context, WorkspaceError};

/// All workspaces of a registry.
#[derive(Debug, Default)]
pub(super) struct Table {
    options: RegistryOptions,
    slots: Mutex<Slots>,
}

type Slots = HashMap<Key, Slot>;

/// What there is for one id. Only a task ends `Making` and `Removing`.
#[derive(Debug)]
enum Slot {
    Ready(Kept),
    /// A workspace is being made, in place of another if there is one.
    Making {
        previous: Option<Kept>,
        made: Waiting<Arc<Entry>>,
    },
    Removing {
        removed: Waiting<()>,
    },
}

/// A workspace and its use.
#[derive(Debug)]
struct Kept {
    entry: Arc<Entry>,
    /// Handles have one too.
    held: Arc<()>,
    last_acquired: Instant,
}

/// What a caller does next to acquire a workspace.
pub(super) enum Step {
    /// It has it.
    Ready(WorkspaceHandle),
    /// It asks which instance there is now, and comes back with the answer and this entry.
    Confirm(Arc<Entry>),
    /// It waits until it is made.
    Made(Waiting<Arc<Entry>>),
    /// It waits until it is removed, and comes back.
    Removed(Waiting<()>),
}

/// An entry, and the instance that there is now.
pub(super) type Confirmed = (Arc<Entry>, Option<String>);

impl Table {
    pub(super) fn new(options: RegistryOptions) -> Self {
        Self { options, slots: Mutex::default() }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        // A panic cannot leave it half changed.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a caller does next who wants the workspace of a key.
    pub(super) fn step(
        self: &Arc<Self>,
        ctx: &Context,
        key: &Key,
        confirmed: Option<Confirmed>,
        now: Instant,
    ) -> Result<Step, WorkspaceError> {
        let mut tasks = Tasks::new()?;
        let step = {
            let mut slots = self.slots();
            match present(&mut slots, key, confirmed, now) {
                Some(step) => Ok(step),
                None => self.make_room(ctx, &mut slots, key, &mut tasks).map(|()| {
                    let previous = match slots.remove(key) {
                        Some(Slot::Ready(kept)) => Some(kept),
                        _ => None,
                    };
                    let made = tasks.make(self, ctx, key.clone(), self.options.policy);
                    slots.insert(key.clone(), Slot::Making { previous, made: made.clone() });
                    Step::Made(made)
                }),
            }
        };
        tasks.begin();
        step
    }

    /// A task has made a workspace. Callers learn it after this.
    pub(super) fn made(&self, entry: Entry) -> Arc<Entry> {
        let entry = Arc::new(entry);
        let kept = Kept { entry: Arc::clone(&entry), held: Arc::default(), last_acquired: Instant::now() };
        self.slots().insert(entry.key.clone(), Slot::Ready(kept));
        entry
    }

    /// A task has failed to make a workspace. What was there before is there again.
    pub(super) fn not_made(&self, key: &Key) {
        let mut slots = self.slots();
        if let Some(Slot::Making { previous: Some(kept), .. }) = slots.remove(key) {
            slots.insert(key.clone(), Slot::Ready(kept));
        }
    }

    /// A task has removed a workspace, or given up. Callers learn it after this.
    pub(super) fn removed(&self, key: &Key) {
        self.slots().remove(key);
    }

    /// Forgets an entry, if that is still the one.
    pub(super) fn forget(&self, entry: &Arc<Entry>) -> bool {
        let mut slots = self.slots();
        is_ready(&slots, entry) && slots.remove(&entry.key).is_some()
    }

    /// Begins to remove an entry, if that is still the one.
    pub(super) fn retire(
        self: &Arc<Self>,
        ctx: &Context,
        entry: &Arc<Entry>,
    ) -> Result<Option<Waiting<()>>, WorkspaceError> {
        let mut tasks = Tasks::new()?;
        let removed = {
            let mut slots = self.slots();
            is_ready(&slots, entry).then(|| self.remove(ctx, &mut slots, entry, &mut tasks))
        };
        tasks.begin();
        Ok(removed)
    }

    /// Begins to remove what was idle for too long.
    pub(super) fn retire_idle(self: &Arc<Self>, ctx: &Context) -> Result<Vec<Waiting<()>>, WorkspaceError> {
        let mut tasks = Tasks::new()?;
        let removed = self.remove_idle(ctx, &mut self.slots(), None, &mut tasks);
        tasks.begin();
        Ok(removed)
    }

    /// Begins to remove what nobody holds, of those that are meant.
    pub(super) fn retire_each(
        self: &Arc<Self>,
        ctx: &Context,
        is_meant: impl Fn(&Key) -> bool,
    ) -> Result<Vec<Waiting<()>>, WorkspaceError> {
        let mut tasks = Tasks::new()?;
        let removed = {
            let mut slots = self.slots();
            let meant = evictable(&slots, None).filter(|kept| is_meant(&kept.entry.key));
            let meant: Vec<_> = meant.map(|kept| Arc::clone(&kept.entry)).collect();
            meant.iter().map(|entry| self.remove(ctx, &mut slots, entry, &mut tasks)).collect()
        };
        tasks.begin();
        Ok(removed)
    }

    /// How many there are, with those that are being made.
    pub(super) fn count(&self) -> usize {
        self.slots().values().filter(|slot| slot.is_workspace()).count()
    }

    /// Removes what may not stay when there is one more for this key. What the key itself has is
    /// replaced, not removed.
    fn make_room(
        self: &Arc<Self>,
        ctx: &Context,
        slots: &mut Slots,
        key: &Key,
        tasks: &mut Tasks,
    ) -> Result<(), WorkspaceError> {
        self.remove_idle(ctx, slots, Some(key), tasks);
        let Some(limit) = self.options.max_workspaces else { return Ok(()) };
        loop {
            let others = slots.iter().filter(|(other, slot)| *other != key && slot.is_workspace());
            if others.count() < limit {
                return Ok(());
            }
            let oldest = evictable(slots, Some(key)).min_by_key(|kept| kept.last_acquired);
            let oldest = oldest.map(|kept| Arc::clone(&kept.entry));
            let entry = oldest.ok_or(WorkspaceError::TooManyWorkspaces { limit })?;
            self.remove(ctx, slots, &entry, tasks);
        }
    }

    fn remove_idle(
        self: &Arc<Self>,
        ctx: &Context,
        slots: &mut Slots,
        but: Option<&Key>,
        tasks: &mut Tasks,
    ) -> Vec<Waiting<()>> {
        let Some(timeout) = self.options.idle_timeout else { return Vec::new() };
        let idle = evictable(slots, but).filter(|kept| kept.last_acquired.elapsed() >= timeout);
        let idle: Vec<_> = idle.map(|kept| Arc::clone(&kept.entry)).collect();
        idle.iter().map(|entry| self.remove(ctx, slots, entry, tasks)).collect()
    }

    fn remove(
        self: &Arc<Self>,
        ctx: &Context,
        slots: &mut Slots,
        entry: &Arc<Entry>,
        tasks: &mut Tasks,
    ) -> Waiting<()> {
        let removed = tasks.remove(self, ctx, Arc::clone(entry));
        slots.insert(entry.key.clone(), Slot::Removing { removed: removed.clone() });
        removed
    }
}

/// What a caller does next with what there is. `None` if there is nothing, or nothing of use.
fn present(slots: &mut Slots, key: &Key, confirmed: Option<Confirmed>, now: Instant) -> Option<Step> {
    match slots.get_mut(key)? {
        Slot::Making { made, .. } => Some(Step::Made(made.clone())),
        Slot::Removing { removed } => Some(Step::Removed(removed.clone())),
        Slot::Ready(kept) => match confirmed {
            Some((entry, instance)) if Arc::ptr_eq(&entry, &kept.entry) => {
                (instance == entry.instance).then(|| {
                    kept.last_acquired = now;
                    Step::Ready(WorkspaceHandle::new(&kept.entry, &kept.held))
                })
            }
            // Nobody has asked about this one yet.
            _ => Some(Step::Confirm(Arc::clone(&kept.entry))),
        },
    }
}

impl Slot {
    fn is_workspace(&self) -> bool {
        !matches!(self, Self::Removing { .. })
    }
}

fn is_ready(slots: &Slots, entry: &Arc<Entry>) -> bool {
    matches!(slots.get(&entry.key), Some(Slot::Ready(kept)) if Arc::ptr_eq(&kept.entry, entry))
}

/// Workspaces that nobody holds, except that of a key.
fn evictable<'a>(slots: &'a Slots, but: Option<&'a Key>) -> impl Iterator<Item = &'a Kept> {
    slots.values().filter_map(move |slot| match slot {
        Slot::Ready(kept) if Arc::strong_count(&kept.held) == 1 && Some(&kept.entry.key) != but => Some(kept),
        _ => None,
    })
}
