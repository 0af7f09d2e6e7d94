//! Who of this engine works in which workspace.
//!
//! A program that nobody holds any more is killed, and that takes a moment. Whoever removes its
//! workspace waits for that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use belljar_engine::kept::InUse;
use belljar_runtime::{OutputStream, ProgramSink, WorkspaceName};
use tokio::sync::Notify;

/// How many programs are in each workspace.
#[derive(Default)]
pub(super) struct Uses {
    counts: Mutex<BTreeMap<WorkspaceName, usize>>,
    one_less: Notify,
}

/// One program in a workspace.
struct Use {
    uses: Arc<Uses>,
    name: WorkspaceName,
}

/// Takes what a program prints, and counts while the program exists: it is gone when the program
/// is, before anybody is told of its end.
pub(super) struct Working<S> {
    sink: S,
    /// Keeps other processes from removing the workspace. Before the other: who waits for that may
    /// remove it then.
    _in_use: InUse,
    _counted: Use,
}

impl Uses {
    /// One more.
    pub(super) fn begin<S>(self: &Arc<Self>, name: &WorkspaceName, in_use: InUse, sink: S) -> Working<S> {
        *self.counts().entry(name.clone()).or_default() += 1;
        Working { sink, _in_use: in_use, _counted: Use { uses: Arc::clone(self), name: name.clone() } }
    }

    /// Waits until nobody is in a workspace, for as long as it may take to kill a program.
    pub(super) async fn end(&self, name: &WorkspaceName) {
        const DEAD_WITHIN: Duration = Duration::from_secs(10);
        let gone = async {
            loop {
                // Before looking, so that nothing is missed.
                let changed = self.one_less.notified();
                if !self.counts().contains_key(name) {
                    return;
                }
                changed.await;
            }
        };
        let _ = belljar_engine::timeout(DEAD_WITHIN, gone).await;
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<WorkspaceName, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut counts = self.uses.counts();
        if let Some(count) = counts.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.name);
            }
        }
        drop(counts);
        self.uses.one_less.notify_waiters();
    }
}

impl<S: ProgramSink> ProgramSink for Working<S> {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.sink.take(stream, bytes);
    }

    fn poll_room(&mut self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        self.sink.poll_room(cx)
    }
}
