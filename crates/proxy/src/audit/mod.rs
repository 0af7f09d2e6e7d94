//! Records what a cell asked for: for the result, and for reports as it happens.
//!
//! ```text
//!  decision ──► Record (open while it is carried out: bytes, time, verdict) ──┐ what is new
//!                                                                             ▼
//!  take: once per run or step ◄── lines by host, port and verdict ◄── Ledger (bounded)
//! ```
//!
//! A guest can ask as often as it likes, so equal decisions share one line with a count. It can ask
//! for as many names as it likes, so names are limited. Refusals and the rest have separate limits,
//! and neither can crowd out the other. What has no room under its own name is summed up without
//! it. Nothing stays uncounted.
//!
//! A record that is still open when a run ends is in that run's result, with what it has carried so
//! far. What it carries later is in the result of the step in which it flows.

mod ledger;
mod record;

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar_core::policy::Denial;
use belljar_core::{Decision, NetworkVerdict};

use self::ledger::{Ledger, LedgerUpdate};
use self::record::Progress;
pub(crate) use self::record::{Asked, Record};

/// Called for each denial, at once, on the proxy's task. It must not block.
pub(crate) type OnDenial = Arc<dyn Fn(&Decision) + Send + Sync>;

/// The decisions of one cell.
pub(crate) struct Audit {
    state: Mutex<State>,
    /// The maximum number of lines.
    most: usize,
    on_denial: Option<OnDenial>,
}

struct State {
    ledger: Ledger,
    /// Records that are not dropped yet, by number. There are as many as there are connections.
    alive: HashMap<u64, Arc<Progress>>,
    next: u64,
    /// Denials that were reported although their line existed already.
    repeats_reported: usize,
}

impl Audit {
    pub(crate) fn new(most: usize, on_denial: Option<OnDenial>) -> Self {
        let ledger = Ledger::new(most);
        let state = State { ledger, alive: HashMap::new(), next: 0, repeats_reported: 0 };
        Self { state: Mutex::new(state), most, on_denial }
    }

    /// Opens a record for something that was allowed.
    pub(crate) fn open(self: &Arc<Self>, asked: Asked) -> Record {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let progress = Arc::new(Progress::new(number, asked));
        state.alive.insert(number, progress.clone());
        Record::new(self.clone(), progress)
    }

    /// Records something that was refused before anything happened.
    pub(crate) fn deny(self: &Arc<Self>, denial: &Denial) {
        let asked = Asked { host: denial.host.clone(), port: denial.port, entry: None };
        self.open(asked).deny(denial.rule);
    }

    /// Everything since the last call, in the order in which it began.
    pub(crate) fn take(&self) -> Vec<Decision> {
        let mut state = self.lock();
        let state = &mut *state;
        for progress in state.alive.values() {
            if let Some(update) = progress.unreported() {
                state.ledger.add(&update);
            }
        }
        state.repeats_reported = 0;
        mem::replace(&mut state.ledger, Ledger::new(self.most)).into_decisions()
    }

    /// Adds the verdict of a record.
    fn settle(&self, progress: &Progress, verdict: NetworkVerdict) {
        let (update, is_reported) = {
            let mut state = self.lock();
            progress.settle(verdict);
            let Some(update) = progress.unreported() else { return };
            let is_reported = state.add(&update, self.most / 2);
            (update, is_reported)
        };
        if let (true, Some(tell)) = (is_reported, &self.on_denial) {
            tell(&update.decision());
        }
    }

    /// Adds a record that is closed.
    fn close(&self, progress: &Progress) {
        let mut state = self.lock();
        state.alive.remove(&progress.number);
        if let Some(update) = progress.unreported() {
            state.ledger.add(&update);
        }
    }

    /// Nothing done under this lock can leave the state half-written.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds to the ledger. Returns whether to report it. The first of each line is reported, and a
    /// limited number of the others.
    fn add(&mut self, update: &LedgerUpdate, most_repeats: usize) -> bool {
        let is_first = self.ledger.add(update);
        if !matches!(update.verdict, NetworkVerdict::Denied { .. }) {
            return false;
        }
        let is_reported = is_first || self.repeats_reported < most_repeats;
        if is_reported && !is_first {
            self.repeats_reported += 1;
        }
        is_reported
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::policy::Rule;

    use super::*;

    #[test]
    fn the_first_denial_of_each_line_is_told_and_some_of_the_others() {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let tell = reported.clone();
        let on_denial: OnDenial =
            Arc::new(move |decision: &Decision| tell.lock().unwrap().push(decision.host.clone()));
        let audit = Arc::new(Audit::new(4, Some(on_denial)));
        for host in ["a", "a", "a", "a", "b", "b"] {
            audit.deny(&Denial::new(host, 1, Rule::NotListed));
        }
        assert_eq!(*reported.lock().unwrap(), ["a", "a", "a", "b"], "two repeats, whoever comes first");
        let lines: Vec<_> = audit.take().into_iter().map(|line| (line.host, line.count)).collect();
        assert_eq!(lines, [("a".to_owned(), 4), ("b".to_owned(), 2)]);
        audit.deny(&Denial::new("a", 1, Rule::NotListed));
        assert_eq!((audit.take().len(), reported.lock().unwrap().len()), (1, 5), "the next run has its own");
    }

    fn allowed(host: &str) -> Asked {
        Asked { host: host.into(), port: 443, entry: Some(host.into()) }
    }

    #[test]
    fn what_an_open_record_carries_is_in_the_step_in_which_it_flows() {
        let audit = Arc::new(Audit::new(4, None));
        let record = audit.open(allowed("a.com"));
        record.sent(3);
        record.received(4);
        let figures = |audit: &Audit| {
            audit
                .take()
                .into_iter()
                .map(|line| (line.count, line.bytes_sent, line.bytes_received))
                .collect::<Vec<_>>()
        };
        assert_eq!(figures(&audit), [(1, 3, 4)]);
        assert_eq!(figures(&audit), [], "nothing flowed");
        record.sent(5);
        assert_eq!(figures(&audit), [(0, 5, 0)], "it was made before");
        record.received(6);
        drop(record);
        assert_eq!(figures(&audit), [(0, 0, 6)]);
        assert_eq!(figures(&audit), []);
    }

    #[test]
    fn a_record_that_is_refused_half_way_is_a_refusal_with_its_bytes() {
        let audit = Arc::new(Audit::new(4, None));
        let record = audit.open(allowed("a.com"));
        record.sent(3);
        record.deny(Rule::Upgrade);
        record.deny(Rule::NotListed);
        let lines = audit.take();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(line.verdict, NetworkVerdict::Denied { rule: Rule::Upgrade.to_string() });
        assert_eq!((line.count, line.bytes_sent), (1, 3));
        drop(record);
        assert_eq!(audit.take(), []);
    }
}
