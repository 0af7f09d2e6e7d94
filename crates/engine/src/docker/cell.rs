//! One container, as the host holds it.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use belljar_core::{CellId, Decision};

use super::DockerError;
use super::attach::{Deaf, Hearing, Saying};
use super::container::SUPERVISOR_BYTES;
use super::daemon::Daemon;
use super::message::{self, Counted, Message, Messages, Ready};
use super::remover::Remover;
use super::sidecar::WayOut;
use crate::engine::{Autopsy, BoxFuture, Cell, CellUsage, End, Leftovers, Output};

/// How long a reset may take before the container is in doubt. The supervisor gives up before that.
const RESET_WITHIN: Duration = Duration::from_secs(15);
/// How long the daemon may take to say how a container ended.
const ASKED_WITHIN: Duration = Duration::from_secs(5);

/// The containers of a template that are not removed yet.
pub(super) type Living = Arc<Mutex<HashSet<String>>>;

/// One container. It is killed and removed when it is dropped.
pub(super) struct DockerCell {
    id: CellId,
    container: String,
    daemon: Daemon,
    saying: Saying,
    hearing: Hearing,
    messages: Messages,
    uses_left: u32,
    /// As the kernel counted when this use began.
    before: CellUsage,
    now: CellUsage,
    /// Whether anybody has used it since.
    untouched: bool,
    scratch_is_full: bool,
    state: State,
    way_out: Option<WayOut>,
    remover: Remover,
    living: Living,
}

/// What the guest in it is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Alive,
    /// It can say nothing more, but is there.
    Mute,
    Ended(End),
    /// The connection is gone, and with it the container.
    Lost,
}

/// What a cell is made of.
pub(super) struct Parts {
    pub(super) id: CellId,
    pub(super) container: String,
    pub(super) daemon: Daemon,
    pub(super) saying: Saying,
    pub(super) hearing: Hearing,
    pub(super) uses: u32,
    pub(super) remover: Remover,
    pub(super) living: Living,
}

impl DockerCell {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { id, container, daemon, saying, hearing, uses, remover, living } = parts;
        living.lock().unwrap_or_else(PoisonError::into_inner).insert(container.clone());
        Self {
            id,
            container,
            daemon,
            saying,
            hearing,
            messages: Messages::default(),
            uses_left: uses.saturating_sub(1),
            before: CellUsage::default(),
            now: CellUsage::default(),
            untouched: true,
            scratch_is_full: false,
            state: State::Alive,
            way_out: None,
            remover,
            living,
        }
    }

    pub(super) fn container(&self) -> &str {
        &self.container
    }

    /// Gives it its way to the hosts it may talk to.
    pub(super) fn open_way_out(&mut self, way_out: WayOut) {
        self.way_out = Some(way_out);
    }

    /// Tells the supervisor what it must know, and waits for its word that it is ready.
    pub(super) async fn boot(&mut self, settings: &str) -> Result<Ready, String> {
        // A container that is already gone has told why.
        let _ = self.saying.say(settings.as_bytes()).await;
        match self.message().await {
            Ok(Message::Ready(ready)) => {
                self.now = ready.usage.into();
                self.before = self.now;
                Ok(ready)
            }
            Ok(Message::NotReady { reason }) => Err(reason),
            Ok(other) => Err(format!("it began with {other:?}")),
            Err(deaf) => Err(deaf.to_string()),
        }
    }

    /// What the container said on stderr.
    pub(super) fn last_words(&self) -> Vec<String> {
        self.hearing.last_words()
    }

    fn note(&mut self, counted: Counted) {
        self.now = counted.usage.unwrap_or(self.now);
        self.scratch_is_full = counted.scratch_is_full.unwrap_or(self.scratch_is_full);
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, Deaf>> {
        loop {
            match self.messages.next(self.hearing.stdout()) {
                Ok(Some(message)) => return Poll::Ready(Ok(message)),
                Ok(None) => ready!(self.hearing.poll_more(cx))?,
                Err(garbled) => return Poll::Ready(Err(Deaf::Garbled(garbled.to_string()))),
            }
        }
    }

    async fn message(&mut self) -> Result<Message, Deaf> {
        std::future::poll_fn(|cx| self.poll_message(cx)).await
    }

    /// What the next message comes to; `None` for one that says nothing to anybody but us.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Output>> {
        Poll::Ready(match ready!(self.poll_message(cx)) {
            Ok(message) => self.understand(message),
            Err(deaf) => {
                self.give_up(&deaf);
                Some(Output::Closed)
            }
        })
    }

    fn give_up(&mut self, deaf: &Deaf) {
        if !matches!(deaf, Deaf::Ended) {
            tracing::warn!(container = %self.container, %deaf, "a container is given up");
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
                tracing::warn!(container = %self.container, ?other, "a container speaks out of turn and is given up");
                self.state = State::Lost;
                Some(Output::Closed)
            }
        }
    }

    /// What the supervisor must be told first: whom to bring its listener to, when the proxy is another one than it was.
    async fn introduction(&mut self) -> String {
        let Some(way_out) = &mut self.way_out else { return String::new() };
        match way_out.renew().await {
            Ok(None) => String::new(),
            Ok(Some((token, authority))) => message::way_out(&token, authority.as_deref()),
            Err(error) => {
                // Nobody is let out, which the script will see.
                tracing::warn!(container = %self.container, %error, "a container has no way out");
                String::new()
            }
        }
    }

    /// Has the supervisor hand over what its guest has said by now.
    async fn settle(&mut self, said: &mut Leftovers) {
        if self.saying.say(message::SETTLE).await.is_err() {
            // Whatever ended it is told by who listens next.
            return;
        }
        while self.state == State::Alive && !said.is_plenty() {
            match self.message().await {
                Ok(Message::Settled(counted)) => return self.note(counted),
                Ok(message) => {
                    if let Some(Output::Burst(burst)) = self.understand(message) {
                        said.add(&burst);
                    }
                }
                Err(deaf) => self.give_up(&deaf),
            }
        }
    }

    async fn wait_for_reset(&mut self) -> Result<Counted, String> {
        self.saying.say(message::RESET).await.map_err(|error| error.to_string())?;
        loop {
            match self.message().await.map_err(|deaf| deaf.to_string())? {
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

    /// How a container ended that could not tell it itself.
    async fn ask_the_daemon(&mut self) {
        let asked = self.daemon.api.inspect_container(&self.container, None);
        let answer = tokio::time::timeout(ASKED_WITHIN, asked).await;
        let state = answer.ok().and_then(Result::ok).and_then(|container| container.state);
        if state.and_then(|state| state.oom_killed) == Some(true)
            && self.now.oom_kills == self.before.oom_kills
        {
            self.now.oom_kills = Some(self.now.oom_kills.unwrap_or(0) + 1);
        }
    }
}

impl Cell for DockerCell {
    fn id(&self) -> CellId {
        self.id
    }

    fn send<'a>(&'a mut self, line: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            self.untouched = false;
            let mut message = self.introduction().await.into_bytes();
            message.extend_from_slice(message::input(line.len()).as_bytes());
            message.extend_from_slice(line);
            self.saying.say(&message).await
        })
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
                && tokio::time::timeout(ASKED_WITHIN, self.settle(&mut said)).await.is_err()
            {
                tracing::warn!(container = %self.container, "a container does not answer and is given up");
                self.state = State::Lost;
            }
            said
        })
    }

    fn usage(&self) -> CellUsage {
        let (before, now) = (&self.before, &self.now);
        let peak = now.peak_memory_bytes.filter(|peak| {
            // Counted since the container began: only a new peak is this use's own.
            self.untouched || before.peak_memory_bytes.is_none_or(|before| *peak > before)
        });
        CellUsage {
            // The supervisor counts anew for each use, from its first request on.
            cpu_micros: now.cpu_micros,
            peak_memory_bytes: peak.map(|peak| peak.saturating_sub(SUPERVISOR_BYTES.unsigned_abs())),
            ..now.since(*before)
        }
    }

    fn scratch_is_full(&self) -> bool {
        self.scratch_is_full
    }

    fn take_decisions(&mut self) -> BoxFuture<'_, Vec<Decision>> {
        match &self.way_out {
            Some(way_out) => Box::pin(way_out.take_decisions(false)),
            None => Box::pin(std::future::ready(Vec::new())),
        }
    }

    fn take_last_decisions(&mut self) -> BoxFuture<'_, Vec<Decision>> {
        match &self.way_out {
            // Whoever has talked to anybody has made a socket, and such a container is not used again.
            Some(way_out) => Box::pin(way_out.take_decisions(self.uses_left == 0)),
            None => Box::pin(std::future::ready(Vec::new())),
        }
    }

    fn take_denials(&mut self) -> Vec<Decision> {
        self.way_out.as_ref().map(WayOut::take_denials).unwrap_or_default()
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
            tracing::info!(container = %self.container, reason = %failure, "a container in doubt is retired");
            self.state = State::Lost;
            false
        })
    }

    fn kill(&mut self) {
        self.remover.kill(self.container.clone());
    }

    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy> {
        Box::pin(async move {
            let end = loop {
                match self.state {
                    State::Ended(end) => break end,
                    State::Lost => {
                        self.ask_the_daemon().await;
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
}

impl Drop for DockerCell {
    fn drop(&mut self) {
        self.living.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.container);
        self.remover.remove(std::mem::take(&mut self.container));
    }
}

/// A cell that never came to be, and what its container said.
pub(super) fn not_ready(cell: &DockerCell, image: &str, reason: String) -> DockerError {
    DockerError::NotReady {
        container: cell.container().chars().take(12).collect(),
        image: image.to_owned(),
        reason,
        log: cell.last_words(),
    }
}
