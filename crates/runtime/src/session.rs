//! Several steps on one cell, sharing their variables.

use belljar_core::config::ExecutionMode;
use belljar_core::{CellId, Event, ExecutionRequest, ExecutionResult};
use belljar_engine::CellUsage;
use belljar_engine::pool::Lease;

use crate::executor::{Run, ScriptExecutor};
use crate::law::Cancelled;
use crate::{EventSink, RuntimeError};

/// A held cell. What one step defines, the next can use; dropping the session destroys the cell.
pub struct Session {
    id: CellId,
    /// Absent during a step, so that a dropped step takes the cell with it, and after one that ended it.
    lease: Option<Lease>,
    executor: ScriptExecutor,
    /// By the steps so far.
    used: CellUsage,
}

impl Session {
    pub(crate) fn new(lease: Lease, executor: ScriptExecutor) -> Self {
        Self { id: lease.id(), lease: Some(lease), executor, used: CellUsage::default() }
    }

    /// Whether another step can be run: not after one that crashed, was killed or was dropped.
    pub fn is_alive(&self) -> bool {
        self.lease.is_some()
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
        request.check()?;
        request.mode.get_or_insert(ExecutionMode::Interactive);
        let mut lease = self.lease.take().ok_or(RuntimeError::SessionOver { cell: self.id })?;
        let cancelled = &mut Cancelled::never();
        let run = Run { request: &request, used_before: self.used, sink, cancelled };
        let concluded = self.executor.conclude(lease.cell(), run).await?;
        self.used = concluded.used_by_now;
        if concluded.cell_is_alive {
            self.lease = Some(lease);
        }
        Ok(concluded.result)
    }
}
