//! What a step is in the middle of, so that its record is true wherever it ends.

use std::time::{Duration, Instant};

use belljar_core::ExecutionResult;
use belljar_engine::{Alarm, BoxFuture};
use belljar_runtime::{Execution, RunHandle, RuntimeError};

use super::AgentEvent;
use super::driver::Driver;

/// How long a run that nobody wants any more has to say how far it came. It is killed first, so
/// this is only for machines with much else to do.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Model,
    Vet,
    Run,
}

/// A run in progress. The driver holds it, and not the work: the work may be dropped anywhere.
pub(super) struct Running {
    handle: RunHandle,
    rest: Rest,
}

enum Rest {
    Events(Execution),
    Result(BoxFuture<'static, Result<ExecutionResult, RuntimeError>>),
    Nothing,
}

impl Running {
    pub(super) fn new(execution: Execution) -> Self {
        Self { handle: execution.handle(), rest: Rest::Events(execution) }
    }

    /// The next event. `None` after the last. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<belljar_core::Event> {
        match &mut self.rest {
            Rest::Events(execution) => execution.next().await,
            Rest::Result(_) | Rest::Nothing => None,
        }
    }

    /// The result, after the last event. `None` if it was taken before. Cancel safe.
    pub(super) async fn result(&mut self) -> Option<Result<ExecutionResult, RuntimeError>> {
        if let Rest::Events(_) = &self.rest
            && let Rest::Events(execution) = std::mem::replace(&mut self.rest, Rest::Nothing)
        {
            self.rest = Rest::Result(Box::pin(execution.result()));
        }
        let Rest::Result(result) = &mut self.rest else { return None };
        let result = result.as_mut().await;
        self.rest = Rest::Nothing;
        Some(result)
    }
}

impl Driver<'_> {
    /// Begins to measure, unless this is being measured already.
    pub(super) fn begin(&mut self, phase: Phase) {
        if self.phase.is_none_or(|(begun, _)| begun != phase) {
            self.phase = Some((phase, Instant::now()));
        }
    }

    /// Notes how long it took.
    pub(super) fn end_phase(&mut self) {
        let Some((phase, began)) = self.phase.take() else { return };
        let Some(step) = &mut self.step else { return };
        let took = match phase {
            Phase::Model => &mut step.model_ms,
            Phase::Vet => &mut step.vet_ms,
            Phase::Run => &mut step.run_ms,
        };
        *took = milliseconds(began.elapsed());
    }

    /// Ends what the work was in the middle of when it was dropped, and keeps what there is of it.
    /// The last events are told without waiting.
    pub(super) async fn break_off(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.handle.cancel();
            let mut alarm = Alarm::after(LAST_WORDS);
            let number = self.step.as_ref().map_or(0, |step| step.number);
            let ending = async {
                while let Some(event) = running.next().await {
                    drop(self.sink.on_event(AgentEvent::Run { step: number, event }));
                }
                running.result().await
            };
            let result = tokio::select! {
                biased;
                result = ending => result,
                () = alarm.wait() => None,
            };
            match result {
                Some(Ok(result)) => {
                    if let Some(step) = &mut self.step {
                        step.result = Some(result);
                    }
                }
                Some(Err(error)) => tracing::debug!(%error, "a run that was broken off has no result"),
                None => tracing::debug!("a run that was broken off does not end in time"),
            }
        }
        self.end_phase();
    }
}

/// To the microsecond: more digits say nothing, and not every reader keeps them.
pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
