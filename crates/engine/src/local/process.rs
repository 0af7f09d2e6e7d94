//! A cell's process, watched by a thread of its own from start to end.

use std::io;
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid, waitpid,
};
use tokio::sync::watch;

use super::home::{Home, Place};
use crate::End;
use crate::blocking::named;

/// A handle on a process and on the process group that it leads.
#[derive(Clone)]
pub(super) struct Process {
    state: Arc<Mutex<State>>,
    progress: watch::Receiver<Progress>,
}

struct State {
    /// Its number. `None` once the number may belong to another process.
    pid: Option<Pid>,
    killed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Running,
    Ended(End),
    /// Its files are gone too.
    Tidied(End),
}

impl Process {
    /// Takes over a process that leads a group, and the files that must stay until it has ended.
    pub(super) fn watch(mut child: Child, files: (Arc<Place>, Arc<Home>)) -> io::Result<Self> {
        let pid = Pid::from_child(&child);
        let state = Arc::new(Mutex::new(State { pid: Some(pid), killed: false }));
        let (tell, progress) = watch::channel(Progress::Running);
        let process = Self { state: Arc::clone(&state), progress };
        let wait = move || {
            // Not reaped yet, so nobody else can get its number or its group's.
            let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            let mut state = lock(&state);
            // Ends whatever it has started.
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = child.wait();
            state.pid = None;
            let end = match ended {
                Ok(Some(_)) if state.killed => End::Killed,
                Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => End::Exited(code),
                    (_, Some(signal)) => End::Signaled(signal),
                    _ => End::Killed,
                },
                _ => End::Killed,
            };
            drop(state);
            tell.send_replace(Progress::Ended(end));
            drop(files);
            tell.send_replace(Progress::Tidied(end));
        };
        match named("belljar-local").spawn(wait) {
            Ok(_) => Ok(process),
            Err(error) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
                Err(error)
            }
        }
    }

    /// Kills it and its whole group.
    pub(super) fn kill(&self) {
        let mut state = lock(&self.state);
        state.killed = true;
        if let Some(pid) = state.pid {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    /// Tells it, or all of its group.
    pub(super) fn signal(&self, signal: crate::Signal) {
        if let Some(pid) = lock(&self.state).pid {
            let _ = match signal {
                crate::Signal::Interrupt => kill_process(pid, Signal::INT),
                crate::Signal::InterruptAll => kill_process_group(pid, Signal::INT),
                crate::Signal::Terminate => kill_process_group(pid, Signal::TERM),
            };
        }
    }

    /// Waits until it has ended. Returns how it ended.
    pub(super) async fn end(&mut self) -> End {
        match self.progress.wait_for(|progress| *progress != Progress::Running).await.as_deref() {
            Ok(Progress::Ended(end) | Progress::Tidied(end)) => *end,
            // The thread is gone. Only a panic in it can have caused that.
            _ => End::Killed,
        }
    }

    /// Whether its number is still its own.
    pub(super) fn is_running(&self) -> bool {
        *self.progress.borrow() == Progress::Running
    }

    fn is_tidied(&self) -> bool {
        matches!(*self.progress.borrow(), Progress::Tidied(_))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processes that nobody holds any more, and that may still be running.
#[derive(Clone, Default)]
pub(super) struct Leaving(Arc<Mutex<Vec<Process>>>);

impl Leaving {
    /// Kills one and keeps it until it is gone.
    pub(super) fn add(&self, process: Process) {
        process.kill();
        let mut those = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        those.retain(|other| !other.is_tidied());
        those.push(process);
    }

    /// Waits until all of them are gone.
    pub(super) async fn settle(&self) {
        let those = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for mut process in those {
            let tidied = |progress: &Progress| matches!(progress, Progress::Tidied(_));
            let _ = process.progress.wait_for(tidied).await;
        }
    }
}
