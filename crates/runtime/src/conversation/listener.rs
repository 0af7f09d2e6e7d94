//! Whoever listens to a run, at a pace of their own.
//!
//! ```text
//!  while it runs    tell ─► waiting ─► the sink, one event at a time; the cell is read on
//!  when it is over  the cell is given back ─► the rest is told, within a bounded time
//! ```
//!
//! An event that is being taken when the run ends is neither lost nor waited for: its future is
//! kept here, and goes on after the cell is given back.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use belljar_core::{Event, EventKind};
use belljar_engine::timeout;
use tokio::sync::Semaphore;
use tokio_util::sync::ReusableBoxFuture;

use crate::EventSink;
use crate::sink::Queue;

/// A sink, and the events it has not taken yet.
pub(crate) struct Listener<'s> {
    state: State<'s>,
    waiting: VecDeque<Event>,
    /// The memory that those take, in bytes.
    weight: u64,
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
        Self { state: State::Free(sink), waiting: VecDeque::new(), weight: 0, room: None, taking: None }
    }

    /// The reader of a stream, who may come late: the queue takes every event.
    pub(crate) fn of_stream(queue: &'s mut Queue) -> Self {
        let room = Some(queue.room());
        Self { room, ..Self::new(queue) }
    }

    /// Has an event told when its turn comes.
    pub(crate) fn tell(&mut self, event: Event) {
        self.weight += weight(&event);
        self.waiting.push_back(event);
    }

    /// Whether the cell may be read on: not if more waits than a run may write. A script that
    /// prints single bytes makes events that are far larger than these bytes.
    pub(super) fn keeps_up(&self, limit: u64) -> bool {
        self.weight < limit
    }

    /// Tells what can be told without waiting. Ready when everything is taken.
    pub(super) fn poll_tell(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if let (State::Taking, Some(taking)) = (&self.state, &mut self.taking) {
                self.state = State::Free(ready!(taking.poll(cx)));
            }
            let Some(event) = self.waiting.pop_front() else { return Poll::Ready(()) };
            self.weight -= weight(&event);
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
        let taken = timeout(within, poll_fn(|cx| self.poll_tell(cx))).await;
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

/// The memory that an event takes, in bytes.
fn weight(event: &Event) -> u64 {
    let texts = match &event.kind {
        EventKind::Stdout { text } | EventKind::Stderr { text } | EventKind::Leftover { text, .. } => {
            text.len()
        }
        EventKind::Log { message, .. } | EventKind::Warning { message } => message.len(),
        EventKind::Intermediate { label, data } => label.len() + data.as_str().len(),
        EventKind::FinalResult { data } => data.as_str().len(),
        EventKind::Display { display } => display.size(),
        EventKind::Error { message, traceback } => message.len() + traceback.as_ref().map_or(0, String::len),
        EventKind::Denied { target, rule } => target.len() + rule.len(),
        EventKind::ToolCall { tool, args, .. } => tool.len() + args.as_str().len(),
        EventKind::ToolProgress { tool, message, .. } => tool.len() + message.len(),
        EventKind::ToolResult { call, message } => call.tool.len() + message.len(),
        // The result is there once, for the caller.
        _ => 0,
    };
    (size_of::<Event>() + event.execution_id.as_str().len() + texts) as u64
}

#[cfg(test)]
mod tests {
    use belljar_core::ExecutionId;

    use super::*;

    /// Takes nothing.
    struct Never;

    impl EventSink for Never {
        fn on_event(&mut self, _: Event) -> Option<belljar_engine::BoxFuture<'_, ()>> {
            Some(Box::pin(std::future::pending()))
        }
    }

    fn print(text: &str) -> Event {
        Event::new(ExecutionId::new("e"), 0, EventKind::Stdout { text: text.to_owned() })
    }

    #[tokio::test]
    async fn what_waits_is_weighed_as_it_comes_and_as_it_goes() {
        const LIMIT: u64 = 100_000;
        let mut sink = Never;
        let mut listener = Listener::new(&mut sink);
        let mut told = 0;
        while listener.keeps_up(LIMIT) {
            listener.tell(print("x"));
            told += 1;
        }
        let least = LIMIT / (size_of::<Event>() as u64 + 2);
        assert_eq!(told, least + 1, "single bytes are not the weight of their events");
        assert!(poll_fn(|cx| Poll::Ready(listener.poll_tell(cx))).await.is_pending());
        assert!(listener.keeps_up(LIMIT), "the one that is being taken waits no more");
        assert_eq!(listener.finish(Duration::ZERO).await, Some(told as usize));

        let mut taken = 0;
        let mut sink = |_: Event| taken += 1;
        let mut listener = Listener::new(&mut sink);
        (0..10).for_each(|_| listener.tell(print("text")));
        assert!(poll_fn(|cx| Poll::Ready(listener.poll_tell(cx))).await.is_ready());
        assert_eq!((listener.weight, listener.finish(Duration::ZERO).await), (0, None));
        assert_eq!(taken, 10);
    }

    #[tokio::test]
    async fn a_queue_takes_everything_once_its_run_is_over_and_its_reader_finds_it() {
        let (mut queue, mut reader) = crate::sink::queue();
        let mut listener = Listener::of_stream(&mut queue);
        (0..1000).for_each(|_| listener.tell(print("x")));
        assert!(poll_fn(|cx| Poll::Ready(listener.poll_tell(cx))).await.is_pending(), "there is no room");
        assert!(poll_fn(|cx| reader.poll_next(cx)).await.is_some());
        assert_eq!(listener.finish(Duration::ZERO).await, None);
        drop(queue);
        let mut read = 1;
        while poll_fn(|cx| reader.poll_next(cx)).await.is_some() {
            read += 1;
        }
        assert_eq!(read, 1000);
    }
}
