//! One run, from its request to its ending. The only place that waits for a cell.
//!
//! ```text
//!  request ─► begin, send
//!                │
//!                ▼   one select!, until there is an ending
//!      ┌ deadlines: time, processor time, the caller's wishes
//!      ├ the listener: takes events, one at a time
//!      └ the cell: writes what is queued, reads what is there ─► frames ─► events ─► listener
//!                │
//!                ▼
//!  ending ─► kill, unless the script ended by itself; read the rest
//!         ─► observe: usage, network ─► Concluded
//!                │
//!                ▼   the cell is given back
//!  say ─► what the listener has not taken, within a bounded time
//! ```
//!
//! Both directions of the cell are served in the same branch, so a guest that prints before it
//! reads holds up nobody. The same branch carries out the calls of host tools.
//!
//! * `calls` carries out what the script asks of host tools.
//! * `frames` understands what the guest says.
//! * `telling` makes events of what happens, and tells the last ones.
//! * `listener` hands events on, at the listener's pace but not on the script's time.
//! * `ending` is how a run is brought to its end, and what is read after that.
//! * `printed` keeps frames and prints in order.
//! * `stdin` passes on what the script reads.

mod calls;
mod ending;
mod frames;
mod listener;
mod printed;
mod stdin;
mod telling;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use belljar_core::ExecutionResult;
use belljar_core::wire::{HostFrame, Lines};
use belljar_engine::{Cell, CellUsage, Leftovers, Output, Process, Signal, Until};
use bytes::Bytes;

use self::calls::CallNews;
pub(crate) use self::calls::Calls;
pub(crate) use self::listener::Listener;
use self::printed::Printed;
pub(crate) use self::stdin::Input;
use crate::deadlines::{Call, Deadlines};
use crate::files::{Collection, Wanted};
use crate::transcript::{Conditions, Ending, Facts, Transcript};

/// A run under way.
pub(crate) struct Conversation<'a, 's> {
    pub(crate) cell: &'a mut dyn Cell,
    pub(crate) transcript: Transcript,
    pub(crate) seal: &'a str,
    /// How much all output together may be, and how much of it may wait for the listener.
    pub(crate) limit: u64,
    pub(crate) deadlines: Deadlines<'a>,
    pub(crate) listener: Listener<'s>,
    pub(crate) progress: Progress,
    /// What the script reads.
    pub(crate) input: Input,
    /// What the script has asked host tools for.
    pub(crate) calls: Calls<'a>,
    /// The one that it takes place in.
    pub(crate) process: Process,
}

/// How far a run has come.
pub(crate) struct Progress {
    lines: Lines,
    printed: Printed,
    /// Whether there was no room left to write to when the script said that it failed. By the time
    /// it is over there may be.
    scratch_was_full: bool,
    was_interrupted: bool,
    /// Whether an interrupt waits for the request to be sent: it must not overtake it.
    interrupt_is_due: bool,
    /// Goes before the first interrupt, and says which script it is for.
    announcement: Option<Bytes>,
    /// Whether the guest takes no more of what is sent.
    is_deaf: bool,
    /// Whether it has taken everything that was sent.
    is_flushed: bool,
}

/// What a run waits for.
enum Heard {
    Cell(Output),
    Tool(CallNews),
}

impl Progress {
    pub(crate) fn with_limit(limit: u64) -> Self {
        Self {
            lines: Lines::with_limit(usize::try_from(limit).unwrap_or(usize::MAX)),
            printed: Printed::default(),
            scratch_was_full: false,
            was_interrupted: false,
            interrupt_is_due: false,
            announcement: None,
            is_deaf: false,
            is_flushed: true,
        }
    }
}

impl Progress {
    /// Writes what can be written, to the channel and to stdin.
    fn poll_in(&mut self, cell: &mut dyn Cell, input: &mut Input, cx: &mut Context<'_>) {
        self.poll_flush(cell, cx);
        if input.is_open() && !self.is_deaf {
            input.poll(cell, cx);
            // An engine may send it over the channel.
            self.poll_flush(cell, cx);
        }
    }

    /// Has the script with this seal interrupted as soon as its request is sent.
    fn interrupt(&mut self, seal: &str) {
        if !self.interrupt_is_due && !self.was_interrupted {
            self.announcement = Some(HostFrame::Interrupt { seal }.to_line().into());
        }
        self.interrupt_is_due = true;
    }

    /// Writes what can be written, and then interrupts, if that is due.
    fn poll_flush(&mut self, cell: &mut dyn Cell, cx: &mut Context<'_>) {
        if self.is_deaf || cell.come_here().is_err() {
            return;
        }
        let mut flushed = cell.poll_flush(cx);
        if flushed.is_ready()
            && let Some(announcement) = self.announcement.take()
        {
            cell.send(announcement);
            flushed = cell.poll_flush(cx);
        }
        if self.interrupt_is_due && flushed.is_ready() {
            (self.interrupt_is_due, self.was_interrupted) = (false, true);
            cell.signal(Signal::Interrupt);
            // An engine may have to write for that.
            flushed = cell.poll_flush(cx);
        }
        self.is_deaf = matches!(flushed, Poll::Ready(Err(_)));
        self.is_flushed = flushed.is_ready();
    }
}

/// The next thing a cell says. Whoever polls this is woken, on whichever tokio runtime that is.
fn poll_output(cell: &mut dyn Cell, cx: &mut Context<'_>) -> Poll<Output> {
    match cell.come_here() {
        Ok(()) => cell.poll_output(cx),
        Err(error) => {
            tracing::warn!(%error, "a cell cannot be listened to any more");
            cell.kill();
            Poll::Ready(Output::Closed)
        }
    }
}

/// What is said, and how the run is judged.
pub(crate) struct Terms<'a> {
    /// The `execute` line.
    pub(crate) request: Bytes,
    /// What the cell printed since the run before this one.
    pub(crate) leftovers: Leftovers,
    /// What the cell has used so far, by runs before this one.
    pub(crate) used_before: CellUsage,
    pub(crate) started: Instant,
    /// Up to which moment network decisions are this run's.
    pub(crate) until: Until,
    pub(crate) conditions: Conditions<'a>,
    /// The files that are part of the result.
    pub(crate) wanted: Option<Wanted>,
}

/// The outcome of a run. Its last events have not been told yet, and perhaps more.
pub(crate) struct Concluded<'s> {
    pub(crate) result: Arc<ExecutionResult>,
    pub(crate) listener: Listener<'s>,
    /// The script ended by itself, and its cell is there.
    pub(crate) script_is_over: bool,
}

impl<'s> Conversation<'_, 's> {
    /// Holds the conversation. When it comes back the run is over, and its last events are still
    /// to be told.
    pub(crate) async fn hold(mut self, terms: Terms<'_>) -> Concluded<'s> {
        let Terms { request, leftovers, used_before, started, until, conditions, wanted } = terms;
        self.tell_leftovers(&leftovers);
        let ending = self.exchange(request).await;
        let unanswered: Vec<_> = self.calls.abandon().collect();
        tracing::debug!(?ending, "the conversation is over");
        // From here until the record is read and the cell is let go of, nothing is told: that may
        // take long, and nothing in the cell shall have that time.
        // A session goes on with what a step leaves running.
        let is_last = until == Until::TheEnd || !matches!(ending, Ending::Finished);
        self.end(ending, is_last && wanted.is_some()).await;
        let used = self.cell.usage().since(used_before);
        let elapsed = started.elapsed();
        let files = match wanted {
            Some(wanted) => wanted.collect(self.cell, self.transcript.mask()).await,
            None => Collection::default(),
        };
        let facts = Facts {
            conditions,
            ending,
            used,
            elapsed,
            scratch_was_full: self.progress.scratch_was_full,
            was_interrupted: self.progress.was_interrupted,
            network: self.cell.take_decisions(until).await,
            place: self.cell.place().map(str::to_owned),
            files,
            stdin_failure: self.input.failure.take(),
        };
        self.tell_unanswered(unanswered);
        self.tell_rest(&facts.network);
        let Self { transcript, mut listener, .. } = self;
        let (result, last) = transcript.conclude(&facts);
        last.into_iter().for_each(|event| listener.tell(event));
        Concluded { result, listener, script_is_over: matches!(ending, Ending::Finished) }
    }

    /// Sends the request and takes in what comes, until there is an ending.
    async fn exchange(&mut self, request: Bytes) -> Ending {
        if let Some(ending) = self.send(request).await {
            return ending;
        }
        loop {
            let Self {
                cell, deadlines, progress, input, calls, listener, transcript, limit, process, ..
            } = self;
            // Once the outcome is known, only the script's end is left. It has little time for
            // that, and none of it is the listener's.
            let is_ending = transcript.has_outcome();
            let process = *process;
            let output = tokio::select! {
                biased;
                call = deadlines.call() => Err(call),
                output = poll_fn(|cx| {
                    let _ = listener.poll_tell(cx);
                    if !process.is_this() {
                        // The sink has forked, and come back in the child too. The cell is its
                        // parent's.
                        return Poll::Pending;
                    }
                    progress.poll_in(*cell, input, cx);
                    if progress.is_flushed {
                        calls.are_taken();
                    }
                    if let Poll::Ready(news) = calls.poll(cx) {
                        return Poll::Ready(Heard::Tool(news));
                    }
                    // A guest that takes no more may still have something to say.
                    if (is_ending || listener.keeps_up(*limit))
                        && calls.keep_up()
                        && let Poll::Ready(output) = poll_output(*cell, cx)
                    {
                        return Poll::Ready(Heard::Cell(output));
                    }
                    calls.poll_progress(cx).map(Heard::Tool)
                }) => Ok(output),
            };
            let ending = match output {
                Err(call) => self.answer_in_time(call).await,
                Ok(Heard::Cell(Output::Burst(burst))) => self.take_in(burst),
                Ok(Heard::Cell(Output::Closed)) => Some(self.death().await),
                Ok(Heard::Tool(news)) => {
                    self.pass_on(news);
                    None
                }
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    /// Gets the cell ready and queues the request. A cell that takes too long to get ready is as
    /// late as one that does not answer.
    async fn send(&mut self, request: Bytes) -> Option<Ending> {
        loop {
            let Self { cell, deadlines, listener, .. } = self;
            let call = tokio::select! {
                biased;
                begun = cell.begin() => match begun {
                    Ok(()) => break,
                    Err(_) => return Some(self.death().await),
                },
                call = deadlines.call() => call,
                never = listener.attend() => match never {},
            };
            if let Some(ending) = self.answer(call) {
                return Some(ending);
            }
        }
        tracing::debug!(bytes = request.len(), "the request is sent");
        self.cell.send(request);
        None
    }

    /// Does what a call from outside asks for; the ending, if that is one.
    fn answer(&mut self, call: Call) -> Option<Ending> {
        if call == Call::Interrupted {
            self.progress.interrupt(self.seal);
            return None;
        }
        self.deadlines.breach(call, &*self.cell)
    }

    /// The same, for a script that may have ended in time without having been heard.
    async fn answer_in_time(&mut self, call: Call) -> Option<Ending> {
        let ending = self.answer(call)?;
        Some(match ending {
            Ending::Overstayed => self.last_look(ending).await,
            Ending::Deadline | Ending::CpuSpent => match self.last_look(ending).await {
                // It wrote more while it was looked at. That is not what ended it.
                Ending::Flood => ending,
                found => found,
            },
            ending => ending,
        })
    }
}
