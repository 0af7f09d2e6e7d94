//! A run as a stream of events.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use belljar_core::{Event, ExecutionResult};
use belljar_engine::{Background, CallersWaker, Forked, InProcess};
use futures_core::Stream;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use crate::RuntimeError;
use crate::control::{RunHandle, Wishes};
use crate::sink::{Queue, Reader, queue};

/// A script in progress: a stream of its events, then its result. Dropping it kills the script.
///
/// A slow reader slows the script down, but not its limits, and loses nothing. When the run is
/// over its cell is given back, whether or not anybody reads. The events that were not read wait
/// here. They take as much memory as the script's output, which `max_output_bytes` limits.
#[derive(Debug)]
pub struct Execution {
    events: InProcess<Reader>,
    run: Result<InProcess<JoinHandle<Result<ExecutionResult, RuntimeError>>>, Forked>,
    background: Background,
    waker: CallersWaker,
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
        let (queue, events) = queue();
        let run = |tokio: Handle| {
            InProcess::new(tokio.spawn(run(queue, Wishes::of(handle.clone())).in_current_span()))
        };
        let (run, events) = (background.nearby().map(run), InProcess::new(events));
        Self { events, run, background: background.clone(), waker: CallersWaker::default(), handle }
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
        poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match self.background.check() {
            Ok(()) => self.events.poll_next(&mut Context::from_waker(self.waker.of(cx))),
            // In a fork nobody tells any. The result says so.
            Err(_) => Poll::Ready(None),
        }
    }

    /// The result, once the script is over. It has everything. Events that were not read are
    /// discarded, and hold up nothing.
    pub async fn result(mut self) -> Result<ExecutionResult, RuntimeError> {
        self.background.check()?;
        self.events.close();
        let run = self.run.as_mut().map_err(|forked| RuntimeError::Forked(*forked))?;
        match self.background.serve(&mut **run).await? {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(RuntimeError::Abandoned),
            },
        }
    }
}

impl Stream for Execution {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll_event(cx)
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        // In a fork it is another process's, and tokio may not be asked.
        if let Ok(run) = &self.run
            && self.background.check().is_ok()
        {
            run.abort();
        }
    }
}
