//! Whoever listens to a run, at a pace of their own.
//!
//! ```text
//!  while it runs    tell ─► waiting ─► the sink, one event at a time; beside it the cell is read on
//!  when it is over  the cell is given back ─► the rest is told, within a bounded time
//! ```
//!
//! An event that is being taken when the run ends is neither lost nor waited for: its future is kept
//! here, and goes on after the cell is given back.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use belljar_core::Event;
use tokio::sync::Semaphore;
use tokio_util::sync::ReusableBoxFuture;

use crate::EventSink;
use crate::sink::Queue;

/// How many events may wait for a slow listener before the script has to wait too.
const READ_AHEAD: usize = 64;

/// A sink, and the events it has not taken yet.
pub(crate) struct Listener<'s> {
    state: State<'s>,
    waiting: VecDeque<Event>,
    /// The room in a stream's queue. A stream is not waited for once its run is over.
    room: Option<Arc<Semaphore>>,
    /// Kept between events, so that a run allocates it once.
    taking: Option<ReusableBoxFuture<'s, &'s mut dyn EventSink>>,
}

enum State<'s> {
    Free(&'s mut dyn EventSink),
    /// It takes an event, and `taking` gives it back.
    Taking,
}

impl<'s> Listener<'s> {
    pub(crate) fn new(sink: &'s mut dyn EventSink) -> Self {
        Self { state: State::Free(sink), waiting: VecDeque::new(), room: None, taking: None }
    }

    /// The reader of a stream, who may come late: the queue takes every event.
    pub(crate) fn of_stream(queue: &'s mut Queue) -> Self {
        let room = Some(queue.room());
        Self { room, ..Self::new(queue) }
    }

    /// Has an event told when its turn comes.
    pub(crate) fn tell(&mut self, event: Event) {
        self.waiting.push_back(event);
    }

    /// Whether the cell may be read on.
    pub(super) fn keeps_up(&self) -> bool {
        self.waiting.len() < READ_AHEAD
    }

    /// Tells what can be told without waiting. Ready when everything is taken.
    pub(super) fn poll_tell(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if let (State::Taking, Some(taking)) = (&self.state, &mut self.taking) {
                self.state = State::Free(ready!(taking.poll(cx)));
            }
            let Some(event) = self.waiting.pop_front() else { return Poll::Ready(()) };
            if let State::Free(sink) = std::mem::replace(&mut self.state, State::Taking) {
                let take = take(sink, event);
                match &mut self.taking {
                    Some(taking) => taking.set(take),
                    None => self.taking = Some(ReusableBoxFuture::new(take)),
                }
            }
        }
    }

    /// Tells while something else is waited for. Cancel safe.
    pub(super) async fn attend(&mut self) -> Infallible {
        poll_fn(|cx| {
            // The listener itself says when it goes on.
            let _ = self.poll_tell(cx);
            Poll::Pending
        })
        .await
    }

    /// Tells the rest of a run that is over. Returns how many events were not taken within this
    /// time, if any.
    pub(crate) async fn finish(mut self, within: Duration) -> Option<usize> {
        if let Some(room) = &self.room {
            room.close();
            poll_fn(|cx| self.poll_tell(cx)).await;
            return None;
        }
        // Most sinks take at once, and need no timer.
        if poll_fn(|cx| Poll::Ready(self.poll_tell(cx))).await.is_ready() {
            return None;
        }
        let taken = tokio::time::timeout(within, poll_fn(|cx| self.poll_tell(cx))).await;
        // One is being taken, or the time would not have run out.
        taken.is_err().then(|| self.waiting.len() + 1)
    }
}

/// Has the sink take an event, and gives the sink back.
async fn take(sink: &mut dyn EventSink, event: Event) -> &mut dyn EventSink {
    if let Some(taken) = sink.on_event(event) {
        taken.await;
    }
    sink
}
