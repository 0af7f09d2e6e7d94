//! A run as a stream of events.

use std::pin::Pin;
use std::task::{Context, Poll};

use belljar_core::{Event, ExecutionResult};
use belljar_engine::Background;
use futures_core::Stream;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinHandle;

use crate::RuntimeError;
use crate::control::{RunHandle, Wishes};
use crate::sink::Queue;

/// How many events may wait for a slow reader before the script has to wait.
const QUEUE: usize = 64;

/// A script in progress: a stream of its events, then its result. Dropping it kills the script.
#[derive(Debug)]
pub struct Execution {
    events: Receiver<Event>,
    run: JoinHandle<Result<ExecutionResult, RuntimeError>>,
    handle: RunHandle,
}

impl Execution {
    /// Starts a run that sends its events to the queue and obeys these wishes.
    pub(crate) fn start<F>(
        background: &Background,
        handle: RunHandle,
        run: impl FnOnce(Queue, Wishes) -> F,
    ) -> Self
    where
        F: Future<Output = Result<ExecutionResult, RuntimeError>> + Send + 'static,
    {
        let (sender, events) = channel(QUEUE);
        let run = background.nearby().spawn(run(Queue(sender), Wishes::of(handle.clone())));
        Self { events, run, handle }
    }

    /// Cancels or interrupts the run from elsewhere.
    pub fn handle(&self) -> RunHandle {
        self.handle.clone()
    }

    /// See [`RunHandle::cancel`].
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// See [`RunHandle::interrupt`].
    pub fn interrupt(&self) {
        self.handle.interrupt();
    }

    /// The next event. `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The result, once the script is over. Events that were not read are discarded.
    pub async fn result(mut self) -> Result<ExecutionResult, RuntimeError> {
        self.events.close();
        match (&mut self.run).await {
            Ok(result) => result,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Stream for Execution {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.events.poll_recv(cx)
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.run.abort();
    }
}
