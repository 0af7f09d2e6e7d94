//! Several steps on one cell, sharing their variables.

use belljar_core::config::ExecutionMode;
use belljar_core::{CellId, Event, ExecutionRequest, ExecutionResult};
use belljar_engine::pool::Lease;
use belljar_engine::{CellUsage, Leftovers};

use crate::executor::{Run, ScriptExecutor};
use crate::law::Cancelled;
use crate::{EventSink, RuntimeError};

/// A held cell. What one step defines, the next can use; dropping the session destroys the cell.
///
/// A step is over when its script is. One that goes on after `emit_result` is interrupted half a second later; if it does not end then, its cell is
/// killed and the session is over. Threads and processes may outlive their step. What they print between two steps is told as
/// [`EventKind::Leftover`](crate::EventKind::Leftover) by the next one and is in no result; what they print during a step cannot be told from that
/// step's own words, and is part of them.
pub struct Session {
    id: CellId,
    /// Absent during a step, so that a dropped step takes the cell with it, and after one that ended it.
    lease: Option<Lease>,
    executor: ScriptExecutor,
    /// Whether nothing has run in it yet.
    is_fresh: bool,
}

impl Session {
    pub(crate) fn new(lease: Lease, executor: ScriptExecutor) -> Self {
        Self { id: lease.id(), lease: Some(lease), executor, is_fresh: true }
    }

    /// Whether another step can be run: not after one that crashed, was killed or was dropped, nor after a shutdown.
    pub fn is_alive(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.hold().check().is_ok())
    }

    /// Runs one step. Dropping the future ends the session.
    pub async fn step(
        &mut self,
        request: impl Into<ExecutionRequest>,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.step_into(request, &mut |_: Event| {}).await
    }

    /// The same, with a callback for every event as it happens.
    pub async fn step_with(
        &mut self,
        request: impl Into<ExecutionRequest>,
        mut on_event: impl FnMut(Event) + Send,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.step_into(request, &mut on_event).await
    }

    /// The same, with anything that takes events.
    pub async fn step_into(
        &mut self,
        request: impl Into<ExecutionRequest>,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        let mut request = request.into();
        self.executor.check(&request)?;
        request.mode.get_or_insert(ExecutionMode::Interactive);
        let _in_progress = self.lease.as_ref().map(Lease::begin).transpose()?;
        let mut lease = self.lease.take().ok_or(RuntimeError::SessionOver { cell: self.id })?;
        let hold = lease.hold().clone();
        let cell = lease.cell();
        // What threads and processes of earlier steps said and used since then is not this step's.
        let (leftovers, used_before) = match std::mem::take(&mut self.is_fresh) {
            true => (Leftovers::default(), CellUsage::default()),
            false => (cell.take_leftovers().await, cell.usage()),
        };
        let cancelled = &mut Cancelled::never();
        let run =
            Run { request: &request, used_before, leftovers, sink: &mut *sink, cancelled, keeps_cell: true };
        let concluded = tokio::select! {
            biased;
            closed = hold.closed() => return Err(closed.into()),
            concluded = self.executor.conclude(cell, run) => concluded?,
        };
        // A cell that cannot be used again goes before anything more is said.
        let kept = concluded.script_is_over.then_some(lease);
        let result = concluded.say(sink).await;
        self.lease = kept;
        Ok(result)
    }
}
