//! One cell, by what its supervisor says of it.

mod files;
mod io;
mod life;
mod view;

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use belljar_core::CellId;
use bytes::Bytes;

use super::message::{self, Counted, Message, Messages, Ready};
use super::{Container, StreamEnd, SupervisorStream};
use crate::cell::{Cell, CellIo, CellUsage, End, Leftovers, Outbox, Output};

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
    /// Whether its guest was killed for the sake of its files.
    is_still: bool,
    /// What the guest said while files were the subject.
    kept: VecDeque<Output>,
    stdin: StdinWindow,
}

/// How far ahead of the guest its stdin is sent.
#[derive(Debug, Default)]
struct StdinWindow {
    /// Bytes on their way.
    sent: usize,
    waiting: Option<Waker>,
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
            is_still: false,
            kept: VecDeque::new(),
            stdin: StdinWindow::default(),
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
        if let Some(kept) = self.kept.pop_front() {
            return Poll::Ready(Some(kept));
        }
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
            Message::StdinTaken { size } => {
                self.stdin.sent = self.stdin.sent.saturating_sub(size);
                if let Some(waiting) = self.stdin.waiting.take() {
                    waiting.wake();
                }
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
        for kept in self.kept.drain(..) {
            if let Output::Burst(burst) = kept {
                said.add(&burst);
            }
        }
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
