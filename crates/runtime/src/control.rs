//! How a caller reaches a run in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belljar_engine::Process;
use tokio::sync::Notify;

/// Cancels or interrupts a run from anywhere. Cheap to clone.
///
/// The handle of a [`Session`](crate::Session) reaches the step in progress. Between two steps it
/// has no effect.
#[derive(Debug, Clone, Default)]
pub struct RunHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    cancel: AtomicBool,
    interrupt: AtomicBool,
    changed: Notify,
    /// Where it was made. In a fork nobody listens, and the list of who does may be locked for
    /// ever.
    process: Process,
}

impl Default for Shared {
    fn default() -> Self {
        let (cancel, interrupt) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { cancel, interrupt, changed: Notify::new(), process: Process::this() }
    }
}

impl Shared {
    fn tell(&self) {
        if self.process.is_this() {
            self.changed.notify_one();
        }
    }
}

impl RunHandle {
    /// Kills the script. What it has said so far can still be read. The result says that it was
    /// cancelled, unless its outcome was already known. A session is over afterwards.
    pub fn cancel(&self) {
        self.shared.cancel.store(true, Ordering::Release);
        self.shared.tell();
    }

    /// Raises `KeyboardInterrupt` in the script, as Ctrl-C would. A script that catches it goes on.
    /// If the script does not catch it, the result says that it was cancelled. A session keeps its
    /// variables.
    ///
    /// As with Ctrl-C, an interrupt that comes in the very moment in which a blocking call begins
    /// is noticed when that call returns. Interrupt again, or cancel.
    pub fn interrupt(&self) {
        self.shared.interrupt.store(true, Ordering::Release);
        self.shared.tell();
    }

    /// Forgets what was requested before a run began.
    pub(crate) fn reset(&self) {
        self.shared.cancel.store(false, Ordering::Release);
        self.shared.interrupt.store(false, Ordering::Release);
    }
}

/// What a caller can ask of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Cancel,
    Interrupt,
}

/// The run's end of a [`RunHandle`], if its caller has one.
pub(crate) struct Wishes(Option<RunHandle>);

impl Wishes {
    /// Nobody can reach the run. A caller who wants it to end drops it.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn of(handle: RunHandle) -> Self {
        Self(Some(handle))
    }

    /// Waits for the caller's next wish. Cancel safe.
    pub(crate) async fn next(&self) -> Wish {
        let Some(RunHandle { shared }) = &self.0 else { return std::future::pending().await };
        loop {
            if shared.cancel.swap(false, Ordering::AcqRel) {
                return Wish::Cancel;
            }
            if shared.interrupt.swap(false, Ordering::AcqRel) {
                return Wish::Interrupt;
            }
            shared.changed.notified().await;
        }
    }

    /// Waits until the caller cancels. An interrupt has nothing to interrupt yet.
    pub(crate) async fn cancelled(&self) {
        while self.next().await != Wish::Cancel {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wishes_made_before_they_are_waited_for_are_heard_and_cancelling_goes_first() {
        let handle = RunHandle::default();
        let wishes = Wishes::of(handle.clone());
        handle.interrupt();
        handle.cancel();
        assert_eq!([wishes.next().await, wishes.next().await], [Wish::Cancel, Wish::Interrupt]);
        handle.interrupt();
        handle.reset();
        handle.cancel();
        assert_eq!(wishes.next().await, Wish::Cancel);
    }
}
