//! All programs of a server: those that run, and for a while those that have ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::held::Held;
use crate::guard::Client;
use crate::options::ServerLimits;
use crate::problem::{Code, Problem};
use crate::tokens::Scope;
use crate::workspaces::Name;

/// Programs, by their ids. Those that were asked for first come first.
#[derive(Default)]
pub(crate) struct Programs(Mutex<BTreeMap<String, Arc<Held>>>);

impl Programs {
    /// How many are not over.
    pub(crate) fn count(&self) -> usize {
        self.lock().values().filter(|held| !held.is_over()).count()
    }

    /// Keeps another, if there is room.
    pub(super) fn add(&self, held: Arc<Held>, limits: &ServerLimits) -> Result<(), Problem> {
        self.sweep();
        let mut all = self.lock();
        let full = |detail: String| Problem::new(Code::QueueFull, detail).after(Duration::from_secs(5));
        // Each of them has a place that runs would like to have. One token leaves some to others.
        let most = (limits.concurrency / 2).max(1);
        let talked_to = || all.values().filter(|other| other.kind.is_talked_to() && !other.is_over());
        let theirs = talked_to().filter(|other| other.owner == held.owner).count();
        let is_full = talked_to().count() >= most || theirs >= most - most / 4;
        if held.kind.is_talked_to() && is_full {
            let detail =
                format!("{most} programs are being talked to, as many as may be: end one of them first");
            return Err(full(detail));
        }
        let half = limits.programs.div_ceil(2);
        let is_theirs = |other: &Arc<Held>| other.owner == held.owner;
        let is_crowded = all.values().filter(|other| is_theirs(other)).count() >= half;
        if is_crowded || all.len() >= limits.programs {
            // Nobody's programs make way for those of another who has many.
            let mut over = all.values().filter(|other| other.is_over() && (!is_crowded || is_theirs(other)));
            let Some(oldest) = over.next().map(|other| other.id.clone()) else {
                return Err(full(match is_crowded {
                    true => format!("this token has {half} programs, as many as it may"),
                    false => format!("there are {} programs, as many as may be", limits.programs),
                }));
            };
            all.remove(&oldest);
        }
        all.insert(held.id.clone(), held);
        Ok(())
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    pub(super) fn all(&self) -> Vec<Arc<Held>> {
        self.lock().values().cloned().collect()
    }

    /// One that a client may look at.
    pub(super) fn seen(&self, id: &str, client: &Client) -> Result<Arc<Held>, Problem> {
        let found = self.lock().get(id).cloned().filter(|held| client.may_see(&held.owner));
        found.ok_or_else(|| Problem::no_such("program", id))
    }

    /// One that a client may change.
    pub(super) fn changed(&self, id: &str, client: &Client) -> Result<Arc<Held>, Problem> {
        client.needs(Scope::Run)?;
        let found = self.lock().get(id).cloned().filter(|held| client.may_change(&held.owner));
        found.ok_or_else(|| Problem::no_such("program", id))
    }

    /// Forgets those that have ended and that nobody has asked for in a while.
    pub(crate) fn sweep(&self) {
        const KEPT: Duration = Duration::from_secs(15 * 60);
        self.lock().retain(|_, held| !held.is_over() || held.last_use().elapsed() < KEPT);
    }

    /// Kills everything that runs in a workspace, and waits until it is gone.
    pub(crate) async fn end_all_in(&self, workspace: &Name) {
        let theirs: Vec<_> = self.all().into_iter().filter(|held| held.workspace == *workspace).collect();
        theirs.iter().for_each(|held| held.kill());
        for held in theirs {
            held.over().await;
        }
    }

    /// Ends those that are talked to: nobody knows when they would end by themselves.
    pub(crate) fn end_those_talked_to(&self) {
        self.all().iter().filter(|held| held.kind.is_talked_to()).for_each(|held| held.kill());
    }

    /// Ends all of them.
    pub(crate) fn clear(&self) {
        self.kill_all(&|_| true);
    }

    /// Kills those of some owners.
    pub(crate) fn kill_all(&self, is_meant: &dyn Fn(&str) -> bool) {
        self.all().iter().filter(|held| is_meant(&held.owner)).for_each(|held| held.kill());
    }

    /// Waits until all are over, and whoever is attached was told.
    pub(crate) async fn over(&self) {
        const TOLD: Duration = Duration::from_secs(2);
        let all = self.all();
        for held in &all {
            held.over().await;
        }
        let told = async {
            for held in &all {
                held.log.nobody_attached().await;
            }
        };
        let _ = tokio::time::timeout(TOLD, told).await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Held>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
