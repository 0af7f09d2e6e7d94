//! One cell, by what its supervisor says of it.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use belljar_core::{CellId, Decision};
use bytes::Bytes;

use super::message::{self, Counted, Message, Messages, Ready};
use super::{Container, ContainerEgress, Introduction, StreamEnd, SupervisorStream};
use crate::cell::{
    Autopsy, Cell, CellIo, CellLife, CellUsage, CellView, End, Leftovers, Outbox, Output, Until,
};
use crate::engine::BoxFuture;

/// How long a reset may take before the cell is in doubt. The supervisor gives up before that.
const RESET_WITHIN: Duration = Duration::from_secs(15);
/// How long a supervisor may take to hand over what its guest has said.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// One cell behind a supervisor.
pub(crate) struct SupervisedCell<C, S> {
    id: CellId,
    container: C,
    stream: S,
    outbox: Outbox,
    /// Whether something was written since the stream was last flushed.
    is_unflushed: bool,
    messages: Messages,
    uses_left: u32,
    /// As the kernel counted when this use began.
    before: CellUsage,
    now: CellUsage,
    /// Whether nobody has used it since it began.
    is_untouched: bool,
    scratch_is_full: bool,
    state: State,
}

/// What is known of the guest in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Alive,
    /// It can say nothing more, but is there.
    Mute,
    Ended(End),
    /// The stream is gone, and with it the container.
    Lost,
}

impl<C: Container, S: SupervisorStream> SupervisedCell<C, S> {
    /// A cell whose supervisor has not been started yet. It may be used `uses` times.
    pub(crate) fn new(id: CellId, container: C, stream: S, uses: u32) -> Self {
        Self {
            id,
            container,
            stream,
            outbox: Outbox::default(),
            is_unflushed: false,
            messages: Messages::default(),
            uses_left: uses.saturating_sub(1),
            before: CellUsage::default(),
            now: CellUsage::default(),
            is_untouched: true,
            scratch_is_full: false,
            state: State::Alive,
        }
    }

    pub(crate) fn container(&mut self) -> &mut C {
        &mut self.container
    }

    /// Tells the supervisor what it must know, and waits until it is ready; or the reason.
    pub(crate) async fn boot(&mut self, settings: String) -> Result<Ready, String> {
        self.outbox.push(settings.into());
        match self.message().await {
            Ok(Message::Ready(ready)) => {
                self.now = ready.usage.into();
                self.before = self.now;
                Ok(ready)
            }
            Ok(Message::NotReady { reason }) => Err(reason),
            Ok(other) => Err(format!("it began with {other:?}")),
            Err(end) => Err(end.to_string()),
        }
    }

    /// What the supervisor wrote to stderr last.
    pub(crate) fn last_words(&self) -> Vec<String> {
        self.stream.last_words()
    }

    fn note(&mut self, counted: Counted) {
        self.now = counted.usage.unwrap_or(self.now);
        self.scratch_is_full = counted.scratch_is_full.unwrap_or(self.scratch_is_full);
    }

    /// The next message. Also writes what is queued, because a supervisor may wait for the rest of
    /// a message.
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, StreamEnd>> {
        // A stream that cannot be written to ends soon, which reading tells.
        let _ = self.poll_flush(cx);
        loop {
            match self.messages.next(self.stream.stdout()) {
                Ok(Some(message)) => return Poll::Ready(Ok(message)),
                Ok(None) => ready!(self.stream.poll_more(cx))?,
                Err(garbled) => return Poll::Ready(Err(StreamEnd::Garbled(garbled.to_string()))),
            }
        }
    }

    async fn message(&mut self) -> Result<Message, StreamEnd> {
        std::future::poll_fn(|cx| self.poll_message(cx)).await
    }

    /// What the next message says to whoever reads; `None` for one that is meant only for us.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Output>> {
        Poll::Ready(match ready!(self.poll_message(cx)) {
            Ok(message) => self.understand(message),
            Err(end) => {
                self.give_up(&end);
                Some(Output::Closed)
            }
        })
    }

    fn give_up(&mut self, end: &StreamEnd) {
        if !matches!(end, StreamEnd::Ended) {
            tracing::warn!(container = %self.container.name(), %end, "a container is given up");
        }
        self.state = State::Lost;
    }

    fn understand(&mut self, message: Message) -> Option<Output> {
        match message {
            Message::Output { burst, counted } => {
                self.note(counted);
                Some(Output::Burst(burst))
            }
            // An answer that came after its question was given up is no news either.
            Message::Usage(counted) | Message::Settled(counted) => {
                self.note(counted);
                None
            }
            Message::SocketsMade => {
                // What sockets leave in a network cannot be undone.
                self.uses_left = 0;
                None
            }
            Message::Closed => {
                self.state = State::Mute;
                Some(Output::Closed)
            }
            Message::Ended { status, counted } => {
                self.note(counted);
                self.state = State::Ended(End::of_wait_status(status));
                Some(Output::Closed)
            }
            other => {
                let container = self.container.name();
                tracing::warn!(%container, ?other, "a container speaks out of turn and is given up");
                self.state = State::Lost;
                Some(Output::Closed)
            }
        }
    }

    /// Has the supervisor hand over what its guest has said by now.
    async fn settle(&mut self, said: &mut Leftovers) {
        self.outbox.push(Bytes::from_static(message::SETTLE));
        while self.state == State::Alive && !said.is_plenty() {
            match self.message().await {
                Ok(Message::Settled(counted)) => return self.note(counted),
                Ok(message) => {
                    if let Some(Output::Burst(burst)) = self.understand(message) {
                        said.add(&burst);
                    }
                }
                Err(end) => self.give_up(&end),
            }
        }
    }

    async fn wait_for_reset(&mut self) -> Result<Counted, String> {
        self.outbox.push(Bytes::from_static(message::RESET));
        loop {
            match self.message().await.map_err(|end| end.to_string())? {
                Message::ResetDone(counted) => return Ok(counted),
                Message::ResetFailed { reason } => return Err(reason),
                Message::Ready(_) | Message::NotReady { .. } => {
                    return Err("it speaks out of turn".to_owned());
                }
                // What the last guest said after its end was called.
                _ => {}
            }
        }
    }
}

impl<C: Container, S: SupervisorStream> Cell for SupervisedCell<C, S> {
    fn id(&self) -> CellId {
        self.id
    }

    fn place(&self) -> Option<&str> {
        Some(self.container.name())
    }
}

impl<C: Container, S: SupervisorStream> CellIo for SupervisedCell<C, S> {
    /// Introduces the supervisor to a proxy that took the place of the one it knew.
    fn begin(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.is_untouched = false;
            let Some(egress) = self.container.egress() else { return Ok(()) };
            match egress.renew().await {
                Ok(None) => {}
                Ok(Some(Introduction { socket, authority })) => {
                    self.outbox.push(message::egress(&socket, authority.as_deref()).into());
                }
                Err(error) => {
                    // Nobody is let out, which the script will see.
                    let container = self.container.name();
                    tracing::warn!(%container, %error, "a container has no egress");
                }
            }
            Ok(())
        })
    }

    fn send(&mut self, bytes: Bytes) {
        self.outbox.push(message::input(bytes.len()).into());
        self.outbox.push(bytes);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { outbox, stream, is_unflushed, .. } = self;
        ready!(outbox.poll_write(cx, |cx, bytes| {
            *is_unflushed = true;
            stream.poll_write(cx, bytes)
        }))?;
        if *is_unflushed {
            ready!(stream.poll_flush(cx))?;
            *is_unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output> {
        if self.state != State::Alive {
            return Poll::Ready(Output::Closed);
        }
        loop {
            if let Some(output) = ready!(self.poll_next(cx)) {
                return Poll::Ready(output);
            }
        }
    }

    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers> {
        Box::pin(async move {
            let mut said = Leftovers::default();
            if self.state == State::Alive
                && tokio::time::timeout(ANSWER_WITHIN, self.settle(&mut said)).await.is_err()
            {
                let container = self.container.name();
                tracing::warn!(%container, "a container does not answer and is given up");
                self.state = State::Lost;
            }
            said
        })
    }
}

impl<C: Container, S: SupervisorStream> CellView for SupervisedCell<C, S> {
    fn usage(&self) -> CellUsage {
        let (before, now) = (&self.before, &self.now);
        let peak = now.peak_memory_bytes.filter(|peak| {
            // Counted since the container began: only a new peak is this use's own.
            self.is_untouched || before.peak_memory_bytes.is_none_or(|before| *peak > before)
        });
        CellUsage {
            // The supervisor counts anew for each use, from its first request on.
            cpu_micros: now.cpu_micros,
            peak_memory_bytes: peak.map(|peak| peak.saturating_sub(self.container.supervisor_bytes())),
            ..now.since(*before)
        }
    }

    fn scratch_is_full(&self) -> bool {
        self.scratch_is_full
    }

    fn take_denials(&mut self) -> Vec<Decision> {
        self.container.egress().map(ContainerEgress::take_denials).unwrap_or_default()
    }

    fn take_decisions(&mut self, until: Until) -> BoxFuture<'_, Vec<Decision>> {
        // A guest that has talked to anybody has made a socket, and its container is not used
        // again.
        let is_last = until == Until::TheEnd && self.uses_left == 0;
        match self.container.egress() {
            Some(egress) => egress.take_decisions(is_last),
            None => Box::pin(std::future::ready(Vec::new())),
        }
    }
}

impl<C: Container, S: SupervisorStream> CellLife for SupervisedCell<C, S> {
    fn interrupt(&mut self) {
        self.outbox.push(Bytes::from_static(message::INTERRUPT));
    }

    fn kill(&mut self) {
        self.container.kill();
    }

    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy> {
        Box::pin(async move {
            let end = loop {
                match self.state {
                    State::Ended(end) => break end,
                    State::Lost => {
                        if self.container.was_killed_for_memory().await
                            && self.now.oom_kills == self.before.oom_kills
                        {
                            self.now.oom_kills = Some(self.now.oom_kills.unwrap_or(0) + 1);
                        }
                        break End::Killed;
                    }
                    State::Alive | State::Mute => {
                        std::future::poll_fn(|cx| self.poll_next(cx)).await;
                    }
                }
            };
            Autopsy { end, usage: self.usage() }
        })
    }

    fn uses_left(&self) -> u32 {
        self.uses_left
    }

    fn reset(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            if self.state != State::Alive {
                return false;
            }
            let outcome = tokio::time::timeout(RESET_WITHIN, self.wait_for_reset()).await;
            let failure = match outcome {
                Ok(Ok(counted)) => {
                    self.note(counted);
                    self.before = self.now;
                    self.scratch_is_full = false;
                    self.uses_left -= 1;
                    return true;
                }
                Ok(Err(reason)) => reason,
                Err(_) => format!("no answer within {} s", RESET_WITHIN.as_secs()),
            };
            let container = self.container.name();
            tracing::info!(%container, reason = %failure, "a container in doubt is retired");
            self.state = State::Lost;
            false
        })
    }
}
