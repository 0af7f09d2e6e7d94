//! Waiting for what a cell says, until it is over or the law says so.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use belljar_core::wire::{Envelope, Lines};
use belljar_core::{Decision, Event, OutputStream};
use belljar_engine::{Burst, Cell, Leftovers, Output};

use crate::EventSink;
use crate::law::{Call, Law};
use crate::transcript::{Ending, Transcript};

/// How long the last words of a killed cell are read. The kernel closes its pipes as it dies, so this is never long.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The one place where a run waits.
pub(crate) struct Listening<'a> {
    pub(crate) transcript: Transcript,
    pub(crate) lines: Lines,
    pub(crate) seal: &'a str,
    pub(crate) limit: u64,
    pub(crate) printed: Printed,
    pub(crate) law: Law<'a>,
    /// Whether there was no room left to write to when the script said that it failed: by the time it is over there may be.
    pub(crate) scratch_was_full: bool,
    /// What the cell was killed for while somebody else was being waited for.
    pub(crate) broken: Option<Ending>,
    /// Whether the grace after the outcome ran out while somebody else was being waited for.
    pub(crate) grace_is_over: bool,
    /// Whether the run is over. From then on nobody is waited for: what happens to the cell must not depend on how fast events are taken.
    pub(crate) is_over: bool,
    /// What is said once nothing in the cell acts any more, and it is known what it did.
    pub(crate) unsaid: Vec<Event>,
    pub(crate) sink: &'a mut dyn EventSink,
}

impl Listening<'_> {
    pub(crate) async fn send_and_listen(&mut self, cell: &mut dyn Cell, line: &[u8]) -> Ending {
        // A guest that does not read its request is as late as one that does not answer it.
        let sent = tokio::select! {
            biased;
            sent = cell.send(line) => sent,
            call = self.law.last_call() => {
                return if call == Call::Cancelled { Ending::Cancelled } else { Ending::Deadline };
            }
        };
        if sent.is_err() {
            return self.death(cell).await;
        }
        loop {
            if let Some(ending) = self.broken {
                return ending;
            }
            if self.grace_is_over {
                return self.last_look(cell).await;
            }
            let output = tokio::select! {
                biased;
                call = self.law.call() => Err(call),
                output = next(cell) => Ok(output),
            };
            let ending = match output {
                Err(Call::Grace) => Some(self.last_look(cell).await),
                Err(call) => self.law.breach(call, cell),
                Ok(Output::Burst(burst)) => self.take_in(cell, burst).await,
                Ok(Output::Closed) => Some(self.death(cell).await),
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    /// The script has had its grace. It may have ended all the same, and its word lie here unread: on a busy machine, or behind a slow taker.
    async fn last_look(&mut self, cell: &mut dyn Cell) -> Ending {
        // A guest that talks without pause would keep us here.
        const ROUNDS: usize = 64;
        for _ in 0..ROUNDS {
            // Lets the event loop see what has arrived.
            tokio::task::yield_now().await;
            let ending = match poll_fn(|cx| Poll::Ready(cell.poll_output(cx))).await {
                Poll::Ready(Output::Burst(burst)) => self.take_in(cell, burst).await,
                Poll::Ready(Output::Closed) => Some(self.death(cell).await),
                Poll::Pending => break,
            };
            if let Some(ending) = ending.or(self.broken) {
                return ending;
            }
        }
        Ending::Overstayed
    }

    /// How a cell that can no longer be talked to ends. That it has closed everything does not mean that it is about to: a guest may do so
    /// and live on, and the law is the same for it.
    async fn death(&mut self, cell: &mut dyn Cell) -> Ending {
        loop {
            let call = tokio::select! {
                biased;
                autopsy = cell.autopsy() => return Ending::Died(autopsy),
                call = self.law.call() => call,
            };
            if let Some(ending) = self.law.breach(call, cell) {
                return ending;
            }
        }
    }

    async fn take_in(&mut self, cell: &mut dyn Cell, burst: Burst) -> Option<Ending> {
        let read = burst.channel.len() + burst.stdout.len() + burst.stderr.len();
        self.transcript.output_bytes += read as u64;
        if self.transcript.output_bytes > self.limit {
            return Some(Ending::Flood);
        }
        self.printed.stdout.waiting.extend_from_slice(&burst.stdout);
        self.printed.stderr.waiting.extend_from_slice(&burst.stderr);
        // Before what the script made of it.
        self.tell_denials(cell).await;
        let ending = self.take_frames(cell, &burst.channel).await;
        self.tell_printed(cell).await;
        ending
    }

    async fn take_frames(&mut self, cell: &mut dyn Cell, bytes: &[u8]) -> Option<Ending> {
        self.lines.push(bytes);
        loop {
            let line = match self.lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(_) => return Some(Ending::Flood),
            };
            if line.is_empty() {
                continue;
            }
            let envelope = Envelope::parse(line).filter(|envelope| envelope.is_sealed_with(self.seal));
            let Some(envelope) = envelope else {
                tracing::debug!(
                    bytes = line.len(),
                    "a line that is not a frame of this execution was skipped"
                );
                continue;
            };
            let before = [envelope.printed.stdout, envelope.printed.stderr];
            let had_outcome = self.transcript.has_outcome();
            let printed = self.printed.up_to(before);
            let earlier = printed.map(|(stream, bytes)| self.transcript.printed(stream, &bytes));
            let event = self.transcript.frame(envelope.frame, self.law.time_is_up());
            if !had_outcome && self.transcript.has_outcome() {
                // Asked for failures only: a result stands whatever is full, and this is the way of every warm run.
                self.scratch_was_full = self.transcript.has_failed() && cell.scratch_is_full();
                self.law.outcome_is_known(self.transcript.mode());
            }
            self.is_over |= self.transcript.is_done();
            for event in earlier.into_iter().flatten().chain(event) {
                self.tell(cell, event).await;
            }
            if self.transcript.is_done() {
                return Some(Ending::Finished);
            }
        }
    }

    /// Hands on what was printed before this run began.
    pub(crate) async fn tell_leftovers(&mut self, cell: &mut dyn Cell, leftovers: &Leftovers) {
        let events: Vec<_> = self.transcript.left_over(leftovers).collect();
        for event in events {
            self.tell(cell, event).await;
        }
    }

    /// Hands on what the proxy has refused since it was last asked.
    pub(crate) async fn tell_denials(&mut self, cell: &mut dyn Cell) {
        for decision in cell.take_denials() {
            if let Some(event) = self.transcript.denied(&decision) {
                self.tell(cell, event).await;
            }
        }
    }

    /// Kills a cell whose script has not ended by itself, and hears it out.
    pub(crate) async fn end(&mut self, cell: &mut dyn Cell, ending: Ending) {
        self.is_over = true;
        match ending {
            Ending::Finished | Ending::Died(_) => {}
            Ending::Deadline | Ending::CpuSpent | Ending::Flood | Ending::Cancelled | Ending::Overstayed => {
                cell.kill();
                self.last_words(cell).await;
            }
        }
    }

    /// What is left to say before the result, once the run is over: everything that was kept, then refusals that were not told.
    pub(crate) async fn take_unsaid(&mut self, cell: &mut dyn Cell, network: &[Decision]) -> Vec<Event> {
        self.tell_denials(cell).await;
        let denied_too = self.transcript.denied_too(network);
        self.unsaid.extend(denied_too);
        self.unsaid.extend(self.transcript.rest());
        std::mem::take(&mut self.unsaid)
    }

    /// Hands on what was printed: all of it, when no frame follows that it would have to wait for.
    async fn tell_printed(&mut self, cell: &mut dyn Cell) {
        for (stream, bytes) in self.printed.up_to([None, None]) {
            if let Some(event) = self.transcript.printed(stream, &bytes) {
                self.tell(cell, event).await;
            }
        }
    }

    /// Hands an event on. The cell waits for a slow taker, the law does not.
    async fn tell(&mut self, cell: &mut dyn Cell, event: Event) {
        if self.is_over {
            return self.unsaid.push(event);
        }
        let Some(mut taken) = self.sink.on_event(event) else { return };
        loop {
            let call = tokio::select! {
                biased;
                () = &mut taken => return,
                call = self.law.call() => call,
            };
            if call == Call::Grace {
                // Not the script's fault: its last words may be waiting behind this event.
                self.grace_is_over = true;
                self.law.forget_grace();
                continue;
            }
            self.broken = self.law.breach(call, cell);
            if self.broken.is_some() {
                cell.kill();
                return taken.await;
            }
        }
    }

    /// What a killed cell had printed before it died, as far as the limit allows. Comes back when it is dead.
    async fn last_words(&mut self, cell: &mut dyn Cell) {
        let until_dead = async {
            while let Output::Burst(burst) = next(cell).await {
                if self.take_in(cell, burst).await.is_some() {
                    break;
                }
            }
            cell.autopsy().await;
        };
        let _ = tokio::time::timeout(LAST_WORDS, until_dead).await;
    }
}

/// What was printed but not handed on yet, because a frame may belong before it.
#[derive(Default)]
pub(crate) struct Printed {
    stdout: Waiting,
    stderr: Waiting,
}

#[derive(Default)]
struct Waiting {
    waiting: Vec<u8>,
    handed_on: u64,
}

impl Printed {
    /// What comes before a frame that was preceded by so many bytes; `None` for all there is.
    fn up_to(&mut self, before: [Option<u64>; 2]) -> [(OutputStream, Vec<u8>); 2] {
        let [stdout, stderr] = before;
        [(OutputStream::Stdout, self.stdout.up_to(stdout)), (OutputStream::Stderr, self.stderr.up_to(stderr))]
    }
}

impl Waiting {
    fn up_to(&mut self, before: Option<u64>) -> Vec<u8> {
        let due = before.map_or(self.waiting.len() as u64, |before| before.saturating_sub(self.handed_on));
        let count = usize::try_from(due).unwrap_or(usize::MAX).min(self.waiting.len());
        self.handed_on += count as u64;
        let rest = self.waiting.split_off(count);
        std::mem::replace(&mut self.waiting, rest)
    }
}

async fn next(cell: &mut dyn Cell) -> Output {
    poll_fn(|cx| cell.poll_output(cx)).await
}
