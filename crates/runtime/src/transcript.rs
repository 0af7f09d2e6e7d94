//! What is known about a run so far, and the result that follows from it. Pure: no clock, no I/O.
//!
//! ```text
//!  frames, output ──► Transcript ──conclude──► result, last events
//!                         ▲ judgement: which verdict
//!  Conditions ──► Facts ──┘
//! ```

mod captured;
mod facts;
mod judgement;
mod shown;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use belljar_core::config::ExecutionMode;
use belljar_core::json::Repairs;
use belljar_core::wire::GuestFrame;
use belljar_core::{
    Decision, Event, EventKind, ExecutionId, ExecutionResult, Intermediate, Json, LogLine, MOST_TOOL_CALLS,
    NetworkVerdict, OutputStream, ToolCallRecord, Usage,
};
use belljar_engine::{CellUsage, Leftovers};

use crate::mask::Mask;
use crate::network::Refusals;
use crate::tools::ToolProgress;
use crate::warnings::{self, Seen};
use captured::Captured;
pub(crate) use facts::{Conditions, Ending, Facts};
pub(crate) use judgement::cause_of_death;
pub(crate) use shown::MissingDisplays;
use shown::Shown;

/// Everything the guest has said that matters.
#[derive(Debug)]
pub(crate) struct Transcript {
    id: ExecutionId,
    mode: ExecutionMode,
    mask: Mask,
    next_seq: u64,
    pub(crate) output_bytes: u64,
    result: Option<Json>,
    failure: Option<Failure>,
    is_done: bool,
    intermediates: Vec<Intermediate>,
    tool_calls: Vec<ToolCallRecord>,
    unlisted_calls: u64,
    shown: Shown,
    logs: Vec<LogLine>,
    refusals: Refusals,
    stdout: Captured,
    stderr: Captured,
    /// Repairs of the result, and of the intermediate results.
    repairs: [Repairs; 2],
    leftover_bytes: usize,
}

#[derive(Debug)]
struct Failure {
    message: String,
    traceback: Option<String>,
    timed_out: bool,
    /// What the script called `sys.exit` with, if it did.
    exit_code: Option<i32>,
}

impl Failure {
    /// Whether an allocation failed and nobody caught it.
    fn is_of_memory(&self) -> bool {
        let name = self.message.split(':').next().unwrap_or_default();
        name == "MemoryError" || name.ends_with("ArrayMemoryError")
    }
}

impl Transcript {
    /// Hides the secrets that the run was granted.
    pub(crate) fn mask(&self) -> &Mask {
        &self.mask
    }

    /// An empty transcript. `mask` hides the secrets that the run was granted.
    pub(crate) fn new(id: ExecutionId, mode: ExecutionMode, mask: Mask) -> Self {
        Self {
            id,
            mode,
            stdout: Captured::new(&mask),
            stderr: Captured::new(&mask),
            mask,
            next_seq: 0,
            output_bytes: 0,
            result: None,
            failure: None,
            is_done: false,
            intermediates: Vec::new(),
            tool_calls: Vec::new(),
            unlisted_calls: 0,
            shown: Shown::default(),
            logs: Vec::new(),
            refusals: Refusals::default(),
            repairs: Default::default(),
            leftover_bytes: 0,
        }
    }

    pub(crate) fn id(&self) -> &ExecutionId {
        &self.id
    }

    pub(crate) fn mode(&self) -> ExecutionMode {
        self.mode
    }

    /// Whether the outcome is known. Then only the script's own end is left to wait for. A program
    /// may emit a result and go on.
    pub(crate) fn has_outcome(&self) -> bool {
        self.failure.is_some() || (self.result.is_some() && self.mode != ExecutionMode::Script)
    }

    /// Whether the script has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether the script is over.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Takes in a frame that carries the right seal. Returns the event it makes.
    ///
    /// `time_is_up` comes from the host. The guest may say that it ran out of time, but only the
    /// host's clock makes it true. It must be true when the frame arrives. Otherwise a guest could
    /// say so early and linger until it is true.
    pub(crate) fn frame(&mut self, frame: GuestFrame<'_>, time_is_up: bool) -> Option<Event> {
        let kind = match frame {
            GuestFrame::FinalResult { .. } | GuestFrame::Error { .. } if self.has_outcome() => return None,
            GuestFrame::FinalResult { .. } if self.result.is_some() => return None,
            GuestFrame::FinalResult { data } => {
                let data = hidden(Json::repaired(data), &self.mask, &mut self.repairs[0]);
                self.result = Some(data.clone());
                EventKind::FinalResult { data }
            }
            GuestFrame::Intermediate { label, data } => {
                let label = self.mask.text(label).into_owned();
                let data = hidden(Json::repaired(data), &self.mask, &mut self.repairs[1]);
                self.intermediates.push(Intermediate::new(label.clone(), data.clone()));
                EventKind::Intermediate { label, data }
            }
            GuestFrame::Display { data, left_out } => {
                EventKind::Display { display: self.shown.take(data, left_out, &self.mask)? }
            }
            GuestFrame::Log { level, message } => {
                let message = self.mask.text(message).into_owned();
                self.logs.push(LogLine::new(level, message.clone()));
                EventKind::Log { level, message }
            }
            GuestFrame::Error { message, traceback, timed_out, exit_code } => {
                let exit_code = exit_code.map(|code| code.rem_euclid(256));
                let message = self.mask.text(message).into_owned();
                let traceback = traceback.map(|traceback| self.mask.text(traceback).into_owned());
                self.failure = Some(Failure {
                    message: message.clone(),
                    traceback: traceback.clone(),
                    timed_out: timed_out && time_is_up,
                    exit_code,
                });
                EventKind::Error { message, traceback }
            }
            GuestFrame::ScriptDone => {
                self.is_done = true;
                EventKind::ScriptDone
            }
            _ => return None,
        };
        Some(self.event(kind))
    }

    /// Takes in a call of a host tool.
    pub(crate) fn tool_call(&mut self, call_id: u64, tool: String, args: Json) -> Event {
        self.event(EventKind::ToolCall { call_id, tool, args })
    }

    /// Takes in how far a host tool has come.
    pub(crate) fn tool_progress(&mut self, heard: ToolProgress) -> Event {
        let ToolProgress { call_id, tool, progress, total, message } = heard;
        self.event(EventKind::ToolProgress { call_id, tool, progress, total, message })
    }

    /// Takes in the answer of a host tool.
    pub(crate) fn tool_result(&mut self, call: ToolCallRecord, message: String) -> Event {
        match self.tool_calls.len() < MOST_TOOL_CALLS {
            true => self.tool_calls.push(call.clone()),
            false => self.unlisted_calls += 1,
        }
        self.event(EventKind::ToolResult { call, message })
    }

    /// Takes in a refusal of the proxy.
    pub(crate) fn denied(&mut self, decision: &Decision) -> Option<Event> {
        let NetworkVerdict::Denied { rule } = &decision.verdict else { return None };
        let target = format!("{}:{}", self.mask.host(&decision.host), decision.port);
        let target = self.mask.text(target.into()).into_owned();
        self.refusals.note();
        Some(self.event(EventKind::Denied { target, rule: rule.clone() }))
    }

    /// One refusal that stands for all that did not become events, once nothing more will come.
    pub(crate) fn denied_too(&mut self, network: &[Decision]) -> Option<Event> {
        self.refusals.last_event(network).map(|kind| self.event(kind))
    }

    /// Takes in what was printed.
    pub(crate) fn printed(&mut self, stream: OutputStream, bytes: &[u8]) -> Option<Event> {
        let kind = match stream {
            OutputStream::Stdout => EventKind::Stdout { text: self.stdout.take(bytes)? },
            OutputStream::Stderr => EventKind::Stderr { text: self.stderr.take(bytes)? },
        };
        Some(self.event(kind))
    }

    /// Takes in what was printed since an earlier step ended. It becomes events, and is in no
    /// result.
    pub(crate) fn left_over(&mut self, leftovers: &Leftovers) -> impl Iterator<Item = Event> {
        let streams = [(OutputStream::Stdout, &leftovers.stdout), (OutputStream::Stderr, &leftovers.stderr)];
        streams
            .map(|(stream, bytes)| {
                self.leftover_bytes += bytes.len();
                let text = self.mask.text(String::from_utf8_lossy(bytes)).into_owned();
                (!text.is_empty()).then(|| self.event(EventKind::Leftover { stream, text }))
            })
            .into_iter()
            .flatten()
    }

    /// What was printed and held back, at the end of the run.
    pub(crate) fn rest(&mut self) -> impl Iterator<Item = Event> {
        let stdout = self.stdout.finish().map(|text| EventKind::Stdout { text });
        let stderr = self.stderr.finish().map(|text| EventKind::Stderr { text });
        [stdout, stderr].map(|kind| kind.map(|kind| self.event(kind))).into_iter().flatten()
    }

    fn event(&mut self, kind: EventKind) -> Event {
        let seq = self.next_seq;
        self.next_seq += 1;
        Event::new(self.id.clone(), seq, kind)
    }

    /// The result and the last events: what the host has to say about the run, and its end. To be
    /// called after [`rest`](Self::rest).
    pub(crate) fn conclude(mut self, facts: &Facts<'_>) -> (Arc<ExecutionResult>, Vec<Event>) {
        let mut network = facts.network.clone();
        for decision in &mut network {
            // The script chose these names, so they may hold secrets.
            decision.host = self.mask.host(&decision.host);
        }
        let (verdict, error) = self.judge(facts);
        let seen = Seen {
            mode: self.mode,
            outcome: match (&self.result, &self.failure) {
                (Some(_), _) => Some("its result"),
                (None, Some(_)) => Some("its error"),
                (None, None) => None,
            },
            repairs: [self.repairs[0], self.repairs[1], self.shown.repairs],
            missing_displays: self.shown.missing,
            leftover_bytes: self.leftover_bytes,
            unlisted_calls: self.unlisted_calls,
        };
        let mut warnings = warnings::about(&seen, facts, &verdict);
        // The script chose the names of its files, so they may hold secrets.
        let mask = |text: &String| self.mask.text(text.as_str().into()).into_owned();
        warnings.extend(facts.files.warnings.iter().map(mask));
        let mut events: Vec<Event> = Vec::with_capacity(warnings.len() + 1);
        events.extend(warnings.iter().cloned().map(|message| self.event(EventKind::Warning { message })));
        let (execution_id, seq) = (self.id.clone(), self.next_seq);
        let mut result = ExecutionResult::new(self.id, verdict, facts.conditions.engine);
        result.final_data = self.result.take().filter(|_| result.verdict.is_ok());
        result.intermediates = self.intermediates;
        result.displays = self.shown.displays;
        result.tool_calls = self.tool_calls;
        result.logs = self.logs;
        result.stdout = self.stdout.text;
        result.stderr = self.stderr.text;
        result.files = facts.files.files.clone();
        result.error = error;
        result.traceback = self.failure.and_then(|failure| failure.traceback);
        result.warnings = facts.conditions.warnings.to_vec();
        result.warnings.extend(self.refusals.warnings(&facts.network));
        result.warnings.extend(warnings);
        result.network = network;
        result.output_bytes = self.output_bytes;
        result.usage = usage(facts.elapsed, &facts.used);
        result.place = facts.place.clone();
        let result = Arc::new(result);
        events.push(Event::new(execution_id, seq, EventKind::Ended { result: Arc::clone(&result) }));
        (result, events)
    }
}

/// What is told of what a run has used.
pub(crate) fn usage(elapsed: Duration, used: &CellUsage) -> Usage {
    let mut usage = Usage::default();
    usage.wall_ms = elapsed.as_micros() as f64 / 1e3;
    usage.cpu_ms = used.cpu_micros.map(|micros| micros as f64 / 1e3);
    usage.peak_memory_bytes = used.peak_memory_bytes;
    usage.oom_kills = used.oom_kills;
    usage.forks_refused = used.forks_refused;
    usage
}

/// What a guest wrote, with secrets hidden. Records what had to be changed.
fn hidden((json, repaired): (Json, Repairs), mask: &Mask, repairs: &mut Repairs) -> Json {
    let (json, masked) = mask.json(json);
    repairs.add(repaired);
    repairs.add(masked);
    json
}
