//! What was compiled, by its content. One source that comes a hundred times is compiled once.
//!
//! Whoever asks first compiles; others that ask for the same wait for that. If the first goes away,
//! the next takes over. What nobody has used for longest goes when there is too much.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar::workspace::OpenWorkspace;
use tokio::sync::OnceCell;

use super::ended::{Ended, How};
use super::passing::Passing;
use crate::problem::Problem;

/// A program that was compiled, or that the compiler has refused.
pub(super) struct Compiled {
    pub(super) workspace: Passing,
    /// How it is run.
    pub(super) run: Vec<String>,
    pub(super) ended: Arc<Ended>,
}

/// How many are kept, and how many bytes they may have together.
const MOST: usize = 64;
const MOST_BYTES: u64 = 512 << 20;

#[derive(Default)]
pub(super) struct Kept(Mutex<All>);

#[derive(Default)]
struct All {
    entries: HashMap<String, Entry>,
    /// Counts uses.
    clock: u64,
}

struct Entry {
    slot: Slot,
    bytes: u64,
    used: u64,
}

type Slot = Arc<OnceCell<Arc<Compiled>>>;

impl Kept {
    /// What was compiled under that key, or else what `compile` makes; and whether it was there.
    pub(super) async fn get<F>(
        &self,
        key: &str,
        compile: impl FnOnce() -> F,
    ) -> Result<(Arc<Compiled>, bool), Problem>
    where
        F: Future<Output = Result<Compiled, Problem>>,
    {
        let slot = self.slot(key);
        let mut is_reused = true;
        let made = slot.get_or_try_init(async || {
            is_reused = false;
            compile().await.map(Arc::new)
        });
        let compiled = made.await.cloned();
        match &compiled {
            // It may be faster the next time, or the server may be well again.
            Err(_) => self.forget(key, &slot),
            Ok(compiled) if compiled.ended.how == How::TimedOut => self.forget(key, &slot),
            Ok(compiled) if !is_reused => {
                let bytes = size(compiled.workspace.get()).await;
                self.lock().settle(key, bytes);
            }
            Ok(_) => {}
        }
        Ok((compiled?, is_reused))
    }

    /// Removes everything that nobody runs.
    pub(super) async fn clear(&self) {
        let all = std::mem::take(&mut self.lock().entries);
        for slot in all.into_values().filter_map(|entry| Arc::into_inner(entry.slot)) {
            if let Some(compiled) = slot.into_inner().and_then(Arc::into_inner) {
                compiled.workspace.remove().await;
            }
        }
    }

    fn slot(&self, key: &str) -> Slot {
        let mut all = self.lock();
        all.clock += 1;
        let now = all.clock;
        let fresh = || Entry { slot: Slot::default(), bytes: 0, used: now };
        let entry = all.entries.entry(key.to_owned()).or_insert_with(fresh);
        entry.used = now;
        entry.slot.clone()
    }

    fn forget(&self, key: &str, slot: &Slot) {
        let mut all = self.lock();
        if all.entries.get(key).is_some_and(|entry| Arc::ptr_eq(&entry.slot, slot)) {
            all.entries.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl All {
    /// One more is there. What was not used for longest makes room. Whoever runs it goes on.
    fn settle(&mut self, key: &str, bytes: u64) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.bytes = bytes;
        }
        let total = |all: &Self| all.entries.values().map(|entry| entry.bytes).sum::<u64>();
        while self.entries.len() > MOST || total(self) > MOST_BYTES {
            let is_done = |entry: &Entry| entry.slot.initialized();
            let done = self.entries.iter().filter(|(_, entry)| is_done(entry));
            let Some(oldest) = done.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone()) else {
                return;
            };
            self.entries.remove(&oldest);
        }
    }
}

/// How many bytes a workspace has, about.
async fn size(workspace: &OpenWorkspace) -> u64 {
    const MANY: usize = 10_000;
    let Ok(mut files) = workspace.files() else { return 0 };
    let listing = files.list(MANY).await;
    let _ = files.close().await;
    listing.map(|listing| listing.entries.iter().map(|entry| entry.size).sum()).unwrap_or(MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let kept = Kept::default();
        for number in 0..MOST + 3 {
            // Nothing is compiled here, so nothing can go.
            kept.slot(&number.to_string());
        }
        kept.lock().settle("0", 1);
        assert_eq!(kept.lock().entries.len(), MOST + 3, "what is being compiled stays");
    }

    #[test]
    fn there_are_only_so_many_and_so_many_bytes() {
        let kept = Kept::default();
        let add = |key: &str, bytes| {
            let compiled =
                Compiled { workspace: Passing::none(), run: Vec::new(), ended: Ended::not_found("").into() };
            assert!(kept.slot(key).set(compiled.into()).is_ok());
            kept.lock().settle(key, bytes);
        };
        for number in 0..MOST {
            add(&number.to_string(), 1);
        }
        kept.slot("0");
        add("one more", 1);
        let has = |key: &str| kept.lock().entries.contains_key(key);
        assert!(has("0") && !has("1") && has("2") && has("one more"));
        add("large", MOST_BYTES - 2);
        assert_eq!(kept.lock().entries.len(), 3);
        assert!(has("0") && has("one more") && has("large"), "the last that were used stay");
        add("too large", MOST_BYTES + 1);
        assert_eq!(kept.lock().entries.len(), 0);
    }
}
