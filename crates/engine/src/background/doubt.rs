//! Finds out whether anybody drives the tokio runtime that a caller is in.
//!
//! `Runtime::enter` puts a thread into a runtime, and does not drive it. Nothing that is registered
//! with a runtime that nobody drives ever happens. Tokio does not tell, so such a runtime is asked:
//! it gets a task that says that it was run. Nobody waits for the answer on the way of a call. A
//! runtime that does not answer in time is held for one that nobody drives, and what was registered
//! there moves to Belljar's own threads. If that is wrong, because it was only busy, nothing is
//! lost but a few microseconds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Wake as _;
use std::time::Duration;

use tokio::runtime::{Handle, Id, RuntimeFlavor};
use tokio::sync::Notify;

use super::relay::Relay;

/// How long a runtime has to answer.
const PATIENCE: Duration = Duration::from_millis(100);

/// Whether it takes somebody on this thread to drive the runtime that the thread is in, and nobody
/// may be. A task is run by whoever drives its runtime, and one with several threads drives itself.
pub(super) fn is_in_doubt(here: &Handle) -> bool {
    here.runtime_flavor() == RuntimeFlavor::CurrentThread && tokio::task::try_id().is_none()
}

/// A call that waits in a runtime that perhaps nobody drives.
pub(super) struct Doubt {
    runtime: Handle,
    caller: Arc<Relay>,
    is_confirmed: AtomicBool,
}

impl Doubt {
    /// Whether nobody drives it.
    pub(super) fn is_confirmed(&self) -> bool {
        self.is_confirmed.load(Ordering::Acquire)
    }

    pub(super) fn is_about(&self, runtime: &Handle) -> bool {
        self.runtime.id() == runtime.id()
    }
}

/// All such calls.
#[derive(Default)]
pub(super) struct Doubts {
    waiting: Mutex<Waiting>,
    begin: Notify,
}

#[derive(Default)]
struct Waiting {
    calls: Vec<Weak<Doubt>>,
    /// Whether somebody comes back to look. Then it need not be woken for one more.
    is_looked_after: bool,
}

impl Doubts {
    /// Looks after a call until it is dropped.
    pub(super) fn about(&self, runtime: Handle, caller: Arc<Relay>) -> Arc<Doubt> {
        let doubt = Arc::new(Doubt { runtime, caller, is_confirmed: AtomicBool::new(false) });
        let mut waiting = self.lock();
        waiting.calls.push(Arc::downgrade(&doubt));
        let is_looked_after = std::mem::replace(&mut waiting.is_looked_after, true);
        drop(waiting);
        if !is_looked_after {
            self.begin.notify_one();
        }
        doubt
    }

    /// Asks around, for ever.
    pub(super) async fn resolve(self: Arc<Self>) {
        loop {
            self.begin.notified().await;
            let mut asked = HashMap::new();
            // Once more after the last call is over: the next one often follows at once.
            let mut is_idle = false;
            loop {
                tokio::time::sleep(PATIENCE).await;
                let calls = self.present();
                confirm(&calls, &asked);
                asked = ask(&calls);
                let was_idle = std::mem::replace(&mut is_idle, calls.is_empty());
                if was_idle && is_idle && self.rest() {
                    break;
                }
            }
        }
    }

    fn present(&self) -> Vec<Arc<Doubt>> {
        let mut waiting = self.lock();
        waiting.calls.retain(|call| call.strong_count() > 0);
        waiting.calls.iter().filter_map(Weak::upgrade).filter(|call| !call.is_confirmed()).collect()
    }

    /// Whether there is nothing to look after.
    fn rest(&self) -> bool {
        let mut waiting = self.lock();
        waiting.is_looked_after = waiting.calls.iter().any(|call| call.strong_count() > 0);
        !waiting.is_looked_after
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks each runtime once. Returns where its answer will be.
fn ask(calls: &[Arc<Doubt>]) -> HashMap<Id, Arc<AtomicBool>> {
    let mut asked = HashMap::new();
    for call in calls {
        asked.entry(call.runtime.id()).or_insert_with(|| {
            let has_answered = Arc::new(AtomicBool::new(false));
            let answer = Arc::clone(&has_answered);
            call.runtime.spawn(async move { answer.store(true, Ordering::Release) });
            has_answered
        });
    }
    asked
}

fn confirm(calls: &[Arc<Doubt>], asked: &HashMap<Id, Arc<AtomicBool>>) {
    for call in calls {
        if asked.get(&call.runtime.id()).is_some_and(|answered| !answered.load(Ordering::Acquire)) {
            tracing::debug!("a call waits in a tokio runtime that nobody drives");
            call.is_confirmed.store(true, Ordering::Release);
            call.caller.wake_by_ref();
        }
    }
}
