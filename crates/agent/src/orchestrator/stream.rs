//! A task as a stream of events.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use belljar_engine::{Background, BoxFuture};
use futures_core::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore, TryAcquireError};
use tokio::task::JoinHandle;

use super::{AgentEvent, AgentSink};
use crate::AgentError;
use crate::record::RunRecord;

/// How many events wait for a slow reader. After that the model and the run wait for it, too.
const ROOM: usize = 64;

/// Cancels a task from anywhere. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct AgentHandle {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    is_cancelled: AtomicBool,
    changed: Notify,
}

impl AgentHandle {
    /// Ends the task, and whatever runs for it. Its record says that it was cancelled, and has all
    /// steps so far.
    pub fn cancel(&self) {
        self.shared.is_cancelled.store(true, Ordering::Release);
        self.shared.changed.notify_one();
    }

    pub(super) async fn cancelled(&self) {
        while !self.shared.is_cancelled.load(Ordering::Acquire) {
            self.shared.changed.notified().await;
        }
    }
}

/// A task in progress: a stream of its events, then its record. Dropping it ends the task, and
/// whatever runs for it.
#[derive(Debug)]
pub struct AgentRun {
    events: UnboundedReceiver<AgentEvent>,
    room: Arc<Semaphore>,
    handle: AgentHandle,
    /// Or why it was never begun.
    work: Result<Work, Option<AgentError>>,
}

#[derive(Debug)]
struct Work {
    background: Background,
    task: JoinHandle<Result<RunRecord, AgentError>>,
}

/// The task's end of a stream.
pub(super) struct Queue {
    events: UnboundedSender<AgentEvent>,
    room: Arc<Semaphore>,
}

impl AgentSink for Queue {
    fn on_event(&mut self, event: AgentEvent) -> Option<BoxFuture<'_, ()>> {
        // Fails only if the reader is gone.
        self.events.send(event).ok()?;
        match self.room.try_acquire() {
            Ok(place) => {
                place.forget();
                None
            }
            Err(TryAcquireError::Closed) => None,
            Err(TryAcquireError::NoPermits) => Some(Box::pin(async {
                if let Ok(place) = self.room.acquire().await {
                    place.forget();
                }
            })),
        }
    }
}

impl AgentRun {
    pub(super) fn start<F>(work: impl FnOnce(Queue, AgentHandle) -> F) -> Self
    where
        F: Future<Output = Result<RunRecord, AgentError>> + Send + 'static,
    {
        let (sender, events) = unbounded_channel();
        let (room, handle) = (Arc::new(Semaphore::new(ROOM)), AgentHandle::default());
        let queue = Queue { events: sender, room: Arc::clone(&room) };
        let work = work(queue, handle.clone());
        let spawned = || -> Result<_, AgentError> {
            let background = Background::of_this_process()?;
            let tokio = background.nearby()?;
            Ok(Work { background, task: tokio.spawn(work) })
        };
        Self { events, room, handle, work: spawned().map_err(Some) }
    }

    /// Cancels the task from elsewhere.
    pub fn handle(&self) -> AgentHandle {
        self.handle.clone()
    }

    /// See [`AgentHandle::cancel`].
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// The next event. `None` after the last.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let event = self.events.poll_recv(cx);
        if let Poll::Ready(Some(_)) = &event {
            self.room.add_permits(1);
        }
        event
    }

    /// The record, once the task is over. Events that were not read are discarded.
    pub async fn record(mut self) -> Result<RunRecord, AgentError> {
        self.events.close();
        self.room.close();
        let task = match &mut self.work {
            Ok(work) => &mut work.task,
            Err(error) => return Err(error.take().unwrap_or(AgentError::Abandoned)),
        };
        match task.await {
            Ok(record) => record,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(AgentError::Abandoned),
            },
        }
    }
}

impl Stream for AgentRun {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        self.poll_event(cx)
    }
}

impl Drop for AgentRun {
    fn drop(&mut self) {
        // In a fork it is another process's, and tokio may not be asked.
        if let Ok(work) = &self.work
            && work.background.check().is_ok()
        {
            work.task.abort();
        }
    }
}
