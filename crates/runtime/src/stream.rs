//! A run as a stream of events.

use belljar_core::{Event, ExecutionResult};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::RuntimeError;

/// A script on its way. Dropping it kills the script.
#[derive(Debug)]
pub struct Execution {
    events: Receiver<Event>,
    run: JoinHandle<Result<ExecutionResult, RuntimeError>>,
    cancel: Option<oneshot::Sender<()>>,
}

impl Execution {
    pub(crate) fn new(
        events: Receiver<Event>,
        run: JoinHandle<Result<ExecutionResult, RuntimeError>>,
        cancel: oneshot::Sender<()>,
    ) -> Self {
        Self { events, run, cancel: Some(cancel) }
    }

    /// Kills the script. What it has said so far can still be read, and the result says that it was cancelled, unless its outcome was known.
    pub fn cancel(&mut self) {
        // No receiver means that it is over already.
        let _ = self.cancel.take().map(|cancel| cancel.send(()));
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The result, once the script is over; events not read by then are let go.
    pub async fn result(mut self) -> Result<ExecutionResult, RuntimeError> {
        self.events.close();
        match (&mut self.run).await {
            Ok(result) => result,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.run.abort();
    }
}
