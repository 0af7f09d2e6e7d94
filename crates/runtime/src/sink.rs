//! Where events go as they happen.

use belljar_core::Event;
use belljar_engine::BoxFuture;

/// Takes events one by one.
///
/// The next event is not read from the cell before the last one was taken. So a slow sink slows
/// down the script, whose output waits in the kernel, and does not fill the host's memory. The
/// script's deadline does not wait for the sink.
pub trait EventSink: Send {
    /// Takes one event. Returns a future if that takes time.
    fn on_event(&mut self, event: Event) -> Option<BoxFuture<'_, ()>>;
}

/// A plain callback.
impl<F: FnMut(Event) + Send> EventSink for F {
    fn on_event(&mut self, event: Event) -> Option<BoxFuture<'_, ()>> {
        self(event);
        None
    }
}

/// A bounded queue, from which `Sandbox::stream` reads. The run goes on even if the reader is gone.
pub(crate) struct Queue(pub(crate) tokio::sync::mpsc::Sender<Event>);

impl EventSink for Queue {
    fn on_event(&mut self, event: Event) -> Option<BoxFuture<'_, ()>> {
        match self.0.try_send(event) {
            Err(tokio::sync::mpsc::error::TrySendError::Full(event)) => {
                Some(Box::pin(async move { drop(self.0.send(event).await) }))
            }
            _ => None,
        }
    }
}
