//! A blueprint made ready: files, and an interpreter to start.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar_core::CellId;
use belljar_core::wire::GuestReport;
use rustix::pipe::{PipeFlags, pipe_with};

use super::cell::LocalCell;
use super::home::Home;
use super::process::{Leaving, Process};
use crate::{BoxFuture, Cell, EngineError, Fitting, Need, Streams, Template, TemplateReport};

/// Numbers cells across all templates of this process.
static CELLS: AtomicU64 = AtomicU64::new(1);

pub(super) struct LocalTemplate {
    pub(super) name: String,
    pub(super) python: String,
    pub(super) home: Arc<Home>,
    /// The directory with the kept workspaces.
    pub(super) store: Option<PathBuf>,
    pub(super) report: TemplateReport,
    /// Every process it started that may still be alive.
    pub(super) living: Mutex<Living>,
    /// The cell with which the template was tried.
    pub(super) first: Mutex<Option<LocalCell>>,
    /// Modules that the first cell could preload, so that the others need not try them.
    pub(super) vouched: Option<Vec<String>>,
    pub(super) leaving: Leaving,
}

/// The processes of a template. It gets no more once it is closed.
#[derive(Default)]
pub(super) struct Living {
    is_closed: bool,
    processes: Vec<Process>,
}

impl LocalTemplate {
    /// Starts an interpreter and waits until its harness is ready.
    pub(super) async fn make(&self, kept: Option<&Path>) -> Result<(LocalCell, GuestReport), EngineError> {
        let id = CellId::new(CELLS.fetch_add(1, Ordering::Relaxed));
        let mut cell = self.start(id, kept).map_err(EngineError::io("start an interpreter"))?;
        self.register(cell.process())?;
        let report = cell.wait_until_ready().await;
        let report = report.map_err(|reason| EngineError::Spawn { name: self.name.clone(), reason })?;
        Ok((cell, report))
    }

    fn start(&self, id: CellId, kept: Option<&Path>) -> std::io::Result<LocalCell> {
        let (place, mut command) = self.home.place(id, &self.python, self.vouched.as_deref(), kept)?;
        let (ours, theirs) = UnixStream::pair()?;
        let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        // Made before the process, so that a failure here leaves no process to end.
        let streams = Streams::new(ours.into(), stdout, stderr)?;
        let child = command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(their_stdout))
            .stderr(Stdio::from(their_stderr))
            .process_group(0)
            .spawn()?;
        let place = Arc::new(place);
        let process = Process::watch(child, (Arc::clone(&place), Arc::clone(&self.home)))?;
        Ok(LocalCell::new(id, streams, process, (place, self.leaving.clone())))
    }

    fn register(&self, process: &Process) -> Result<(), EngineError> {
        let mut living = self.living();
        if living.is_closed {
            return Err(EngineError::Spawn { name: self.name.clone(), reason: "it is closed".to_owned() });
        }
        living.processes.retain(Process::is_running);
        living.processes.push(process.clone());
        Ok(())
    }

    fn living(&self) -> MutexGuard<'_, Living> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Template for LocalTemplate {
    fn report(&self) -> &TemplateReport {
        &self.report
    }

    fn cells_come_back(&self) -> bool {
        false
    }

    fn close(&self) {
        let mut living = self.living();
        living.is_closed = true;
        for process in living.processes.drain(..) {
            self.leaving.add(process);
        }
        drop(living);
        drop(self.first.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn spawn(&self, _need: Need) -> BoxFuture<'_, Result<Box<dyn Cell>, EngineError>> {
        Box::pin(async move {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            let cell = match first {
                Some(cell) => cell,
                None => self.make(None).await?.0,
            };
            Ok(Box::new(cell) as Box<dyn Cell>)
        })
    }

    fn spawn_fitted<'a>(&'a self, fitting: &'a Fitting) -> BoxFuture<'a, Result<Box<dyn Cell>, EngineError>> {
        Box::pin(async move {
            let Fitting { workspace, memory_mb, cpu_quota, pids_limit } = fitting;
            if memory_mb.is_some() || cpu_quota.is_some() || pids_limit.is_some() {
                return Err(EngineError::Unenforceable {
                    engine: super::NAME,
                    what: "limits on a program".into(),
                    reason: "it isolates nothing".into(),
                    remedy: "Use another engine, or leave the limits out".into(),
                });
            }
            let kept = self.store.as_ref().zip(workspace.as_ref());
            let kept = kept.map(|(store, name)| store.join(name.as_str()));
            Ok(Box::new(self.make(kept.as_deref()).await?.0) as Box<dyn Cell>)
        })
    }
}
