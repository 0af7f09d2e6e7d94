//! The last events of a run, and who follows it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belljar::ExecutionResult;
use tokio::sync::{Notify, watch};

use crate::history::Progress;
use crate::problem::Problem;

/// Bytes of events that are kept in memory if the history has them too.
const KEPT: usize = 1 << 20;

/// A run as the server knows it.
pub(crate) struct Run {
    pub(crate) id: Arc<str>,
    /// The token that asked for it.
    pub(crate) owner: String,
    log: Mutex<Log>,
    changed: Notify,
    cancel: watch::Sender<bool>,
    followers: AtomicUsize,
    /// How long it goes on when nobody follows it any more. `None`: to its end.
    grace: Option<Duration>,
}

#[derive(Default)]
struct Log {
    /// The number of the first line.
    first: u64,
    lines: VecDeque<Arc<str>>,
    bytes: usize,
    ending: Option<Ending>,
}

/// How a run ended.
#[derive(Clone)]
pub(crate) enum Ending {
    /// With a result.
    Result(Arc<ExecutionResult>),
    /// Without one of its own: what went wrong.
    Failed(Arc<Mutex<Option<Problem>>>),
}

/// What a follower gets.
pub(crate) enum Next {
    /// These lines.
    Lines(Vec<Arc<str>>),
    /// They are no longer in memory.
    InHistory,
    /// There are no more.
    Over,
}

impl Run {
    pub(crate) fn new(id: &str, owner: &str, grace: Option<Duration>) -> Arc<Self> {
        Arc::new(Self {
            id: id.into(),
            owner: owner.to_owned(),
            log: Mutex::default(),
            changed: Notify::new(),
            cancel: watch::Sender::new(false),
            followers: AtomicUsize::new(0),
            grace,
        })
    }

    /// Kills the run, or keeps it from beginning. It still ends with a result.
    pub(crate) fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    pub(crate) async fn cancelled(&self) {
        // The sender is in this run, so it cannot be gone.
        let _ = self.cancel.subscribe().wait_for(|is_wanted| *is_wanted).await;
    }

    pub(super) fn push(&self, line: Arc<str>, progress: &Progress) {
        let mut log = self.lock();
        log.bytes += line.len();
        log.lines.push_back(line);
        let may_go = |first: u64| first < progress.written() || progress.is_lost();
        while log.bytes > KEPT && log.lines.len() > 1 && may_go(log.first) {
            let Some(gone) = log.lines.pop_front() else { break };
            log.bytes -= gone.len();
            log.first += 1;
        }
        drop(log);
        self.changed.notify_waiters();
    }

    /// The first number that the history must have before more is kept. `None`: there is room.
    pub(super) fn must_wait_for(&self) -> Option<u64> {
        let log = self.lock();
        (log.bytes > 2 * KEPT).then_some(log.first)
    }

    pub(super) fn end(&self, ending: Ending) {
        self.lock().ending = Some(ending);
        self.changed.notify_waiters();
    }

    pub(crate) fn ending(&self) -> Option<Ending> {
        self.lock().ending.clone()
    }

    /// Waits until it is over.
    pub(crate) async fn over(&self) -> Ending {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(ending) = self.ending() {
                return ending;
            }
            changed.await;
        }
    }

    /// Waits for its first event.
    pub(super) async fn begun(&self) {
        self.lines(0).await;
    }

    /// Waits for lines from a number on.
    pub(super) async fn lines(&self, from: u64) -> Next {
        /// So that a long log is not copied as a whole.
        const MOST: usize = 256;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let log = self.lock();
                if from < log.first {
                    return Next::InHistory;
                }
                let skipped = usize::try_from(from - log.first).unwrap_or(usize::MAX);
                let lines: Vec<_> = log.lines.iter().skip(skipped).take(MOST).cloned().collect();
                if !lines.is_empty() {
                    return Next::Lines(lines);
                }
                if log.ending.is_some() {
                    return Next::Over;
                }
            }
            changed.await;
        }
    }

    /// Somebody follows it until this is dropped.
    pub(crate) fn followed(self: &Arc<Self>) -> Followed {
        self.followers.fetch_add(1, Ordering::AcqRel);
        Followed(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who follows a run. When the last has gone, the run is cancelled after its grace.
pub(crate) struct Followed(Arc<Run>);

impl Drop for Followed {
    fn drop(&mut self) {
        let run = self.0.clone();
        if run.followers.fetch_sub(1, Ordering::AcqRel) > 1 || run.ending().is_some() {
            return;
        }
        match run.grace {
            None => {}
            Some(Duration::ZERO) => run.cancel(),
            Some(grace) => {
                tokio::spawn(async move {
                    tokio::time::sleep(grace).await;
                    if run.followers.load(Ordering::Acquire) == 0 {
                        run.cancel();
                    }
                });
            }
        }
    }
}
