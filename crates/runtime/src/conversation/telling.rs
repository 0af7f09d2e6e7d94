//! Handing events on. The cell waits for a slow listener; its deadlines do not.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use belljar_core::{Decision, Event, ExecutionResult};
use belljar_engine::Leftovers;

use super::{Concluded, Conversation};
use crate::EventSink;
use crate::deadlines::Call;

impl Conversation<'_> {
    /// Hands on what was printed before this run began.
    pub(super) async fn tell_leftovers(&mut self, leftovers: &Leftovers) {
        let events: Vec<_> = self.transcript.left_over(leftovers).collect();
        for event in events {
            self.tell(event).await;
        }
    }

    /// Hands on what the proxy has refused since it was last asked.
    pub(super) async fn tell_denials(&mut self) {
        for decision in self.cell.take_denials() {
            if let Some(event) = self.transcript.denied(&decision) {
                self.tell(event).await;
            }
        }
    }

    /// Hands on what was printed: all of it, when no frame follows that it would have to wait for.
    pub(super) async fn tell_printed(&mut self) {
        for (stream, bytes) in self.progress.printed.up_to([None, None]) {
            if let Some(event) = self.transcript.printed(stream, &bytes) {
                self.tell(event).await;
            }
        }
    }

    /// What is left to say before the result, once the run is over: everything that was kept, then
    /// refusals that were not told.
    pub(super) async fn take_unsaid(&mut self, network: &[Decision]) -> Vec<Event> {
        self.tell_denials().await;
        let denied_too = self.transcript.denied_too(network);
        self.progress.unsaid.extend(denied_too);
        self.progress.unsaid.extend(self.transcript.rest());
        std::mem::take(&mut self.progress.unsaid)
    }

    /// Hands an event on.
    pub(super) async fn tell(&mut self, event: Event) {
        let Self { cell, deadlines, sink, progress, seal, .. } = self;
        if progress.is_over {
            return progress.unsaid.push(event);
        }
        let Some(mut taken) = sink.on_event(event) else { return };
        loop {
            let call = tokio::select! {
                biased;
                () = &mut taken => return,
                call = deadlines.call() => call,
            };
            match call {
                Call::Grace => {
                    // Not the script's fault: its last words may be waiting behind this event.
                    progress.grace_is_over = true;
                    deadlines.forget_grace();
                }
                Call::Interrupted => {
                    progress.interrupt(seal);
                    poll_fn(|cx| {
                        progress.poll_flush(*cell, cx);
                        Poll::Ready(())
                    })
                    .await;
                }
                call => {
                    progress.broken = deadlines.breach(call, &**cell);
                    if progress.broken.is_some() {
                        cell.kill();
                        return taken.await;
                    }
                }
            }
        }
    }
}

impl Concluded {
    /// Tells the remaining events, at the listener's pace. A cell that is not used again is given
    /// back before.
    pub(crate) async fn say(self, sink: &mut dyn EventSink) -> ExecutionResult {
        tell(sink, self.unsaid).await;
        // If the sink has dropped the last event, this is the only copy.
        Arc::unwrap_or_clone(self.result)
    }
}

/// Tells events of a run that is over, so there is no limit left to watch.
async fn tell(sink: &mut dyn EventSink, events: impl IntoIterator<Item = Event>) {
    for event in events {
        if let Some(taken) = sink.on_event(event) {
            taken.await;
        }
    }
}
