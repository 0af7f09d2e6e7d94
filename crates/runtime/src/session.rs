//! Several steps on one cell, sharing their variables.

use std::sync::Arc;

use belljar_core::config::ExecutionMode;
use belljar_core::{CellId, Event, ExecutionRequest, ExecutionResult};
use belljar_engine::{Cell, CellUsage};

use crate::executor::ScriptExecutor;
use crate::stock::Stock;
use crate::{EventSink, RuntimeError};

/// A held cell. What one step defines, the next can use; dropping the session destroys the cell.
pub struct Session {
    id: CellId,
    /// Absent during a step, so that a dropped step takes the cell with it, and after one that ended it.
    cell: Option<Box<dyn Cell>>,
    executor: ScriptExecutor,
    /// By the steps so far.
    used: CellUsage,
    /// A cell lives no longer than the template it was made from.
    _origin: Arc<Stock>,
}

impl Session {
    pub(crate) async fn begin(stock: Arc<Stock>, executor: ScriptExecutor) -> Result<Self, RuntimeError> {
        let cell = stock.take().await?;
        Ok(Self { id: cell.id(), cell: Some(cell), executor, used: CellUsage::default(), _origin: stock })
    }

    /// Whether another step can be run: not after one that crashed, was killed or was dropped.
    pub fn is_alive(&self) -> bool {
        self.cell.is_some()
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
        let mut cell = self.cell.take().ok_or(RuntimeError::SessionOver { cell: self.id })?;
        let concluded = self.executor.conclude(cell.as_mut(), self.used, &request, sink).await?;
        self.used = concluded.used_by_now;
        if concluded.cell_is_alive {
            self.cell = Some(cell);
        }
        Ok(concluded.result)
    }
}
