//! Which programs of this engine are in which workspace.
//!
//! Whoever removes a workspace stops them, and waits until they are gone: also those that nobody
//! holds any more, which are killed for that, but not at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use belljar_engine::kept::InUse;
use belljar_runtime::{OutputStream, ProgramSink, RunningProgram, Stop, WorkspaceName};
use tokio::sync::Notify;

/// The programs in each workspace.
#[derive(Default)]
pub(super) struct Uses {
    all: Mutex<BTreeMap<WorkspaceName, Programs>>,
    one_less: Notify,
}

#[derive(Default)]
struct Programs {
    count: usize,
    /// Those that somebody holds.
    held: Vec<Weak<RunningProgram>>,
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
        self.all().entry(name.clone()).or_default().count += 1;
        Working { sink, _in_use: in_use, _counted: Use { uses: Arc::clone(self), name: name.clone() } }
    }

    /// It has been started. Its use may have ended by now.
    pub(super) fn started(&self, name: &WorkspaceName, program: &Arc<RunningProgram>) {
        if let Some(programs) = self.all().get_mut(name) {
            programs.held.retain(|program| program.strong_count() > 0);
            programs.held.push(Arc::downgrade(program));
        }
    }

    /// Kills every program of a workspace that is about to go, and waits until they are gone.
    pub(super) async fn end_all(&self, name: &WorkspaceName) {
        const DEAD_WITHIN: Duration = Duration::from_secs(10);
        for program in self.all().get(name).into_iter().flat_map(|programs| &programs.held) {
            let _ = program.upgrade().map(|program| program.stop(Stop::Cancelled));
        }
        let gone = async {
            loop {
                // Before looking, so that nothing is missed.
                let changed = self.one_less.notified();
                if !self.all().contains_key(name) {
                    return;
                }
                changed.await;
            }
        };
        let _ = belljar_engine::timeout(DEAD_WITHIN, gone).await;
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<WorkspaceName, Programs>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut all = self.uses.all();
        if let Some(programs) = all.get_mut(&self.name) {
            programs.count -= 1;
            if programs.count == 0 {
                all.remove(&self.name);
            }
        }
        drop(all);
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
