//! Where events go as they happen.

use std::sync::Arc;
use std::task::{Context, Poll};

use belljar_core::Event;
use belljar_engine::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, TryAcquireError};

/// Takes events one by one, in order. An event is told when the one before it was taken.
///
/// While the script runs, a sink may be slow. Output is read ahead of it, as long as the events
/// that wait take less memory than `max_output_bytes`. After that the output waits in the kernel,
/// and the script may have to wait with it. So a slow sink does not fill the host's memory. No
/// limit waits for the sink.
///
/// When the run is over, its cell is given back before anything else is told, even if an event is
/// still being taken. Then the sink has 10 seconds for the rest
/// ([`Sandbox::with_listener_timeout`](crate::Sandbox::with_listener_timeout)). If that is not
/// enough, the last future is dropped, and the result comes with a warning that says how many
/// events were not taken. The result itself has everything.
///
/// So a sink may wait for another run of the same sandbox, even if there is only one cell.
/// [`Sandbox::stream`](crate::Sandbox::stream) is for readers who need every event, however late
/// they come.
pub trait EventSink: Send {
    /// Takes one event. Returns a future if that takes time. Must not block its thread: nothing
    /// else of the run could go on, its limits included.
    fn on_event(&mut self, event: Event) -> Option<BoxFuture<'_, ()>>;
}

/// A plain callback.
impl<F: FnMut(Event) + Send> EventSink for F {
    fn on_event(&mut self, event: Event) -> Option<BoxFuture<'_, ()>> {
        self(event);
        None
    }
}

/// How many events the queue of a stream takes ahead of its reader. The rest waits as for any sink.
const ROOM: usize = 64;

/// The run's end of a stream. Takes every event at once. What it waits for is room for the next.
///
/// The run goes on if the reader is gone. When the run is over the room is closed, and nothing is
/// waited for: all output together is at most `max_output_bytes`.
pub(crate) struct Queue {
    events: UnboundedSender<Event>,
    room: Arc<Semaphore>,
}

/// The reader's end of a stream.
#[derive(Debug)]
pub(crate) struct Reader {
    events: UnboundedReceiver<Event>,
    room: Arc<Semaphore>,
}

/// Both ends of a stream.
pub(crate) fn queue() -> (Queue, Reader) {
    let (sender, receiver) = unbounded_channel();
    let room = Arc::new(Semaphore::new(ROOM));
    (Queue { events: sender, room: Arc::clone(&room) }, Reader { events: receiver, room })
}

impl Queue {
    pub(crate) fn room(&self) -> Arc<Semaphore> {
        Arc::clone(&self.room)
    }
}

impl EventSink for Queue {
    fn on_event(&mut self, event: Event) -> Option<BoxFuture<'_, ()>> {
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

impl Reader {
    /// The next event. `None` after the last.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let event = self.events.poll_recv(cx);
        if let Poll::Ready(Some(_)) = &event {
            self.room.add_permits(1);
        }
        event
    }

    /// Reads no more. Nobody waits for room then.
    pub(crate) fn close(&mut self) {
        self.events.close();
        self.room.close();
    }
}
