//! A run in progress, read event by event.

use std::sync::Arc;

use belljar::engine::BoxFuture;
use belljar::{Event, EventKind, ExecutionResult, RunHandle, RuntimeError};
use futures_util::FutureExt;
use pyo3::prelude::*;
use tokio::sync::Mutex;

use crate::call::Call;
use crate::output;

/// How many events are handed over at a time, if so many are there.
const BATCH: usize = 256;

/// A run in progress. Dropping it kills the script.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Execution {
    reading: Arc<Mutex<Reading>>,
    handle: RunHandle,
}

/// What was read, and where more comes from.
struct Reading {
    source: Source,
    /// Events that were handed over, perhaps to somebody who gave up waiting for them.
    unconfirmed: Vec<Event>,
}

enum Source {
    Run(belljar::Execution),
    /// The last event was read. The run still gives its cell back.
    Ending(BoxFuture<'static, Result<ExecutionResult, RuntimeError>>),
    Over,
}

impl Execution {
    pub(crate) fn new(run: belljar::Execution) -> Self {
        let handle = run.handle();
        let reading = Reading { source: Source::Run(run), unconfirmed: Vec::new() };
        Self { reading: Arc::new(Mutex::new(reading)), handle }
    }
}

impl Reading {
    /// Reads on, if everything before was confirmed. Giving it up loses nothing.
    async fn read(&mut self, confirmed: u64) -> Result<Vec<Event>, RuntimeError> {
        self.unconfirmed.retain(|event| event.seq >= confirmed);
        if self.unconfirmed.is_empty()
            && let Source::Run(run) = &mut self.source
        {
            let first = run.next().await;
            self.unconfirmed.extend(first);
            while (1..BATCH).contains(&self.unconfirmed.len()) {
                match run.next().now_or_never() {
                    Some(Some(event)) => self.unconfirmed.push(event),
                    _ => break,
                }
            }
        }
        let has_ended =
            self.unconfirmed.last().is_none_or(|event| matches!(event.kind, EventKind::Ended { .. }));
        if has_ended {
            self.end().await?;
        }
        Ok(self.unconfirmed.clone())
    }

    /// Waits until the run has given its cell back: the next step of a session needs it. A run that
    /// was cut off without a last event has an error.
    async fn end(&mut self) -> Result<(), RuntimeError> {
        if matches!(self.source, Source::Run(_))
            && let Source::Run(run) = std::mem::replace(&mut self.source, Source::Over)
        {
            self.source = Source::Ending(Box::pin(run.result()));
        }
        if let Source::Ending(ending) = &mut self.source {
            let ended = ending.await;
            self.source = Source::Over;
            ended?;
        }
        Ok(())
    }
}

#[pymethods]
impl Execution {
    /// The next events, as `output::events` has them, from number `confirmed` on: those before it
    /// have arrived. An empty list after the last.
    fn next(&self, confirmed: u64) -> Call {
        let reading = Arc::clone(&self.reading);
        Call::fallible(async move { reading.lock().await.read(confirmed).await }, output::events)
    }

    /// Kills the script. The stream still ends with a result.
    fn cancel(&self) {
        self.handle.cancel();
    }

    /// Raises `KeyboardInterrupt` in the script.
    fn interrupt(&self) {
        self.handle.interrupt();
    }
}
