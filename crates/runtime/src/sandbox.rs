//! A config made ready, from which scripts get their cells.

use std::sync::Arc;

use belljar_core::{Event, ExecutionRequest, ExecutionResult};
use belljar_engine::pool::{Shelf, ShelfStats};
use belljar_engine::{CellUsage, Leftovers, TemplateReport, Until};

use crate::control::{RunHandle, Wishes};
use crate::executor::{Run, ScriptExecutor};
use crate::{EventSink, Execution, RuntimeError, Session};

/// A config made ready. Cheap to clone; the warm cells go when the last clone does.
#[derive(Clone)]
pub struct Sandbox {
    shelf: Arc<Shelf>,
    executor: ScriptExecutor,
}

impl Sandbox {
    pub(crate) fn new(shelf: Arc<Shelf>, executor: ScriptExecutor) -> Self {
        Self { shelf, executor }
    }

    /// What came of making it ready.
    pub fn report(&self) -> &TemplateReport {
        self.shelf.report()
    }

    /// Makes `count` cells ready ahead of need, this once; the config's `pool_size` is what is kept ready all the time.
    pub async fn warm(&self, count: usize) -> Result<(), RuntimeError> {
        Ok(self.shelf.fill(count).await?)
    }

    /// Waits until nothing runs in any of its cells, and those that are used again are as good as new.
    pub async fn at_rest(&self) {
        self.shelf.at_rest().await;
    }

    /// What its pool holds and has done.
    pub fn stats(&self) -> ShelfStats {
        self.shelf.stats()
    }

    /// Runs a script in a cell of its own. Dropping the future kills it.
    pub async fn run(&self, request: impl Into<ExecutionRequest>) -> Result<ExecutionResult, RuntimeError> {
        self.run_into(request, &mut |_: Event| {}).await
    }

    /// The same, with a callback for every event as it happens. The last one is always [`EventKind::Ended`](crate::EventKind::Ended).
    pub async fn run_with(
        &self,
        request: impl Into<ExecutionRequest>,
        mut on_event: impl FnMut(Event) + Send,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.run_into(request, &mut on_event).await
    }

    /// The same, with anything that takes events.
    pub async fn run_into(
        &self,
        request: impl Into<ExecutionRequest>,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.run_heeding(&Wishes::none(), request.into(), sink).await
    }

    async fn run_heeding(
        &self,
        wishes: &Wishes,
        request: ExecutionRequest,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.executor.check(&request)?;
        let mut lease = tokio::select! {
            biased;
            lease = self.shelf.checkout() => lease?,
            () = wishes.cancelled() => return Ok(self.executor.never_ran(&request, sink).await),
        };
        let (used_before, leftovers) = (CellUsage::default(), Leftovers::default());
        let run =
            Run { request: &request, used_before, leftovers, sink: &mut *sink, wishes, until: Until::TheEnd };
        let concluded = self.executor.conclude(lease.cell(), run).await?;
        if concluded.script_is_over {
            lease.vouch();
        }
        // A reader who takes the last events slowly keeps no cell.
        drop(lease);
        Ok(concluded.say(sink).await)
    }

    /// The same, as a stream that is read at the reader's own pace. Dropping it kills the script.
    pub fn stream(&self, request: impl Into<ExecutionRequest>) -> Execution {
        let (sandbox, request) = (self.clone(), request.into());
        Execution::start(RunHandle::default(), |mut queue, wishes| async move {
            sandbox.run_heeding(&wishes, request, &mut queue).await
        })
    }

    /// Takes a cell for several steps that share their variables.
    pub async fn session(&self) -> Result<Session, RuntimeError> {
        Ok(Session::new(self.shelf.checkout().await?, self.executor.clone()))
    }
}
