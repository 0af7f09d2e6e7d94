//! Finds out whether anybody drives the tokio runtime that a caller is in.
//!
//! `Runtime::enter` puts a thread into a runtime, and does not drive it. Nothing that is registered
//! with a runtime that nobody drives ever happens. Tokio does not tell, so such a runtime is asked:
//! it gets a task that says that it was run. Nobody waits for the answer on the way of a call. A
//! runtime that does not answer in time is held for one that nobody drives, and what was registered
//! there moves to Belljar's own threads, until it answers. If that is wrong, because it was only
//! busy, nothing is lost but a few microseconds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Wake as _;
use std::time::Duration;

use tokio::runtime::{Handle, Id, RuntimeFlavor};
use tokio::sync::Notify;

use super::relay::Relay;

/// How long a runtime has to answer.
const PATIENCE: Duration = Duration::from_millis(100);

/// Whether a runtime is driven by threads of its own. The others need somebody who drives them. To
/// be in a task says nothing: it may be another runtime's.
pub(super) fn drives_itself(runtime: &Handle) -> bool {
    runtime.runtime_flavor() == RuntimeFlavor::MultiThread
}

/// A call that waits in a runtime that perhaps nobody drives.
pub(super) struct Doubt {
    runtime: Handle,
    caller: Arc<Relay>,
}

impl Doubt {
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub(super) fn is_about(&self, runtime: &Handle) -> bool {
        self.runtime.id() == runtime.id()
    }
}

/// All such calls.
#[derive(Default)]
pub(super) struct Doubts {
    known: Mutex<Known>,
    /// Whether any is confirmed. Most hosts have none, and need no lock to know.
    are_confirmed: AtomicBool,
    begin: Notify,
}

#[derive(Default)]
struct Known {
    calls: Vec<Weak<Doubt>>,
    /// What runtimes were asked, and have not answered in time.
    undriven: HashMap<Id, Question>,
    /// Whether somebody comes back to look. Then it need not be woken for one more.
    is_looked_after: bool,
}

/// Whether a runtime has run the task that it was given. Once the runtime is gone nobody else has
/// this.
type Question = Arc<AtomicBool>;

impl Doubts {
    /// Looks after a call until it is dropped.
    pub(super) fn about(&self, runtime: Handle, caller: Arc<Relay>) -> Arc<Doubt> {
        let doubt = Arc::new(Doubt { runtime, caller });
        let mut known = self.lock();
        known.calls.push(Arc::downgrade(&doubt));
        let is_looked_after = std::mem::replace(&mut known.is_looked_after, true);
        drop(known);
        if !is_looked_after {
            self.begin.notify_one();
        }
        doubt
    }

    /// Whether nobody drives this runtime, as far as is known.
    pub(super) fn are_confirmed_about(&self, runtime: &Handle) -> bool {
        if !self.are_confirmed.load(Ordering::Acquire) {
            return false;
        }
        let mut known = self.lock();
        known.undriven.retain(|_, asked| !asked.load(Ordering::Acquire) && Arc::strong_count(asked) > 1);
        self.are_confirmed.store(!known.undriven.is_empty(), Ordering::Release);
        known.undriven.contains_key(&runtime.id())
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
                self.confirm(&calls, &asked);
                asked = self.ask(&calls);
                let was_idle = std::mem::replace(&mut is_idle, calls.is_empty());
                if was_idle && is_idle && self.rest() {
                    break;
                }
            }
        }
    }

    fn present(&self) -> Vec<Arc<Doubt>> {
        let mut known = self.lock();
        known.calls.retain(|call| call.strong_count() > 0);
        known.calls.iter().filter_map(Weak::upgrade).collect()
    }

    /// Asks each runtime once. Those that owe an answer are not asked again.
    fn ask(&self, calls: &[Arc<Doubt>]) -> HashMap<Id, Question> {
        let mut asked = HashMap::new();
        for call in calls {
            if !self.are_confirmed_about(&call.runtime) {
                asked.entry(call.runtime.id()).or_insert_with(|| {
                    let has_run = Question::default();
                    let answer = Arc::clone(&has_run);
                    call.runtime.spawn(async move { answer.store(true, Ordering::Release) });
                    has_run
                });
            }
        }
        asked
    }

    fn confirm(&self, calls: &[Arc<Doubt>], asked: &HashMap<Id, Question>) {
        for call in calls {
            let question = asked.get(&call.runtime.id());
            if let Some(question) = question.filter(|question| !question.load(Ordering::Acquire)) {
                tracing::debug!("a call waits in a tokio runtime that nobody drives");
                self.lock().undriven.insert(call.runtime.id(), Arc::clone(question));
                self.are_confirmed.store(true, Ordering::Release);
                call.caller.wake_by_ref();
            }
        }
    }

    /// Whether there is nothing to look after.
    fn rest(&self) -> bool {
        let mut known = self.lock();
        known.is_looked_after = known.calls.iter().any(|call| call.strong_count() > 0);
        !known.is_looked_after
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
