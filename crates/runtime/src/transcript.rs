//! What is known about a run so far, and the result that follows from it. Pure: no clock, no I/O.

use std::sync::Arc;
use std::time::Duration;

use belljar_core::config::{ExecutionMode, ResourceLimits};
use belljar_core::json::Repairs;
use belljar_core::wire::GuestFrame;
use belljar_core::{
    Decision, Event, EventKind, ExecutionId, ExecutionResult, Intermediate, Json, LogLine, NetworkVerdict,
    OutputStream, Usage, Verdict,
};
use belljar_engine::{Autopsy, CellUsage, End, Leftovers};

use crate::mask::{Mask, MaskedStream};
use crate::network::Refusals;
use crate::utf8::Decoder;
use crate::warnings::{self, Seen};

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
}

#[derive(Debug)]
struct Captured {
    text: String,
    masked: MaskedStream,
    decoder: Decoder,
}

/// Why the host stopped listening.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    /// The script is over.
    Finished,
    /// Its outcome is known, it went on for too long after that, and the cell was killed.
    Overstayed,
    /// The time limit passed, and the cell was killed.
    Deadline,
    /// The processor time was used up, and the cell was killed.
    CpuSpent,
    /// It wrote too much, and the cell was killed.
    Flood,
    /// The caller gave up, and the cell was killed.
    Cancelled,
    /// The cell ended by itself.
    Died(Autopsy),
}

/// What is known of a run before it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions<'a> {
    pub(crate) timeout: Duration,
    pub(crate) limits: &'a ResourceLimits,
    pub(crate) engine: &'a str,
    /// What every result of this sandbox warns of.
    pub(crate) warnings: &'a [String],
}

/// What the host knows of a run once it is over.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) conditions: Conditions<'a>,
    pub(crate) ending: Ending,
    pub(crate) elapsed: Duration,
    pub(crate) used: CellUsage,
    /// Whether a place the script may write to was full when the script failed.
    pub(crate) scratch_was_full: bool,
    /// Whether the caller interrupted the script.
    pub(crate) was_interrupted: bool,
    /// The hosts it reached, or wanted to.
    pub(crate) network: Vec<Decision>,
    /// What the engine itself calls the place it ran in.
    pub(crate) place: Option<String>,
}

impl Transcript {
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
            logs: Vec::new(),
            refusals: Refusals::default(),
            repairs: Default::default(),
            leftover_bytes: 0,
        }
    }

    pub(crate) fn mode(&self) -> ExecutionMode {
        self.mode
    }

    /// Whether the outcome is known. Then only the script's own end is left to wait for.
    pub(crate) fn has_outcome(&self) -> bool {
        self.result.is_some() || self.failure.is_some()
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
            GuestFrame::Log { level, message } => {
                let message = self.mask.text(message).into_owned();
                self.logs.push(LogLine::new(level, message.clone()));
                EventKind::Log { level, message }
            }
            GuestFrame::Error { message, traceback, timed_out } => {
                let message = self.mask.text(message).into_owned();
                let traceback = traceback.map(|traceback| self.mask.text(traceback).into_owned());
                self.failure = Some(Failure {
                    message: message.clone(),
                    traceback: traceback.clone(),
                    timed_out: timed_out && time_is_up,
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
            repairs: self.repairs,
            leftover_bytes: self.leftover_bytes,
        };
        let warnings = warnings::about(&seen, facts, &verdict);
        let mut events: Vec<Event> = Vec::with_capacity(warnings.len() + 1);
        events.extend(warnings.iter().cloned().map(|message| self.event(EventKind::Warning { message })));
        let (execution_id, seq) = (self.id.clone(), self.next_seq);
        let mut usage = Usage::default();
        usage.wall_ms = facts.elapsed.as_micros() as f64 / 1e3;
        usage.cpu_ms = facts.used.cpu_micros.map(|micros| micros as f64 / 1e3);
        usage.peak_memory_bytes = facts.used.peak_memory_bytes;
        usage.oom_kills = facts.used.oom_kills;
        usage.forks_refused = facts.used.forks_refused;
        let mut result = ExecutionResult::new(self.id, verdict, facts.conditions.engine);
        result.final_data = self.result.take().filter(|_| result.verdict.is_ok());
        result.intermediates = self.intermediates;
        result.logs = self.logs;
        result.stdout = self.stdout.text;
        result.stderr = self.stderr.text;
        result.error = error;
        result.traceback = self.failure.and_then(|failure| failure.traceback);
        result.warnings = facts.conditions.warnings.to_vec();
        result.warnings.extend(self.refusals.warnings(&facts.network));
        result.warnings.extend(warnings);
        result.network = network;
        result.output_bytes = self.output_bytes;
        result.usage = usage;
        result.place = facts.place.clone();
        let result = Arc::new(result);
        events.push(Event::new(execution_id, seq, EventKind::Ended { result: Arc::clone(&result) }));
        (result, events)
    }

    /// The verdict. What the host knows counts first, and what the guest said second.
    fn judge(&self, facts: &Facts<'_>) -> (Verdict, Option<String>) {
        let seconds = facts.conditions.timeout.as_secs_f64();
        if let Ending::Flood = facts.ending {
            let limit = with_separators(facts.conditions.limits.max_output_bytes);
            return (Verdict::Output, Some(format!("Script output exceeded {limit} byte limit")));
        }
        if self.result.is_some() {
            return (Verdict::Ok, None);
        }
        if let Some(failure) = &self.failure {
            let message = Some(failure.message.clone());
            if failure.timed_out {
                return (Verdict::TimeoutWall, message);
            }
            // What the kernel says about a limit counts more than what the script made of it.
            let verdict = match facts {
                Facts { used, .. } if used.oom_kills > Some(0) => Verdict::Oom,
                Facts { used, .. } if used.forks_refused > Some(0) => Verdict::Pids,
                Facts { scratch_was_full: true, .. } => Verdict::Disk,
                Facts { was_interrupted: true, .. } => Verdict::Cancelled,
                _ => Verdict::Exception,
            };
            return (verdict, message);
        }
        match facts.ending {
            Ending::Deadline => {
                let message = format!(
                    "Timed out waiting for container response: the script ran past its limit of {seconds}s, did not stop \
                     by itself, and was killed"
                );
                (Verdict::TimeoutWall, Some(message))
            }
            Ending::CpuSpent => {
                let limit = facts.conditions.limits.cpu_time().unwrap_or_default().as_secs_f64();
                let message = format!("The script used its {limit}s of processor time and was killed");
                (Verdict::TimeoutCpu, Some(message))
            }
            Ending::Cancelled => (Verdict::Cancelled, Some("The run was cancelled by its caller".to_owned())),
            Ending::Died(autopsy) => died(autopsy.end, &facts.used),
            _ if self.mode == ExecutionMode::Interactive => (Verdict::Ok, None),
            _ => {
                let message = "Script finished without calling emit_result".to_owned();
                (Verdict::NoResult, Some(message))
            }
        }
    }
}

fn died(end: End, used: &CellUsage) -> (Verdict, Option<String>) {
    let (verdict, cause) = cause_of_death(end, used);
    (verdict, Some(format!("Container stdout closed unexpectedly: {cause}")))
}

/// How a cell died that nobody killed, as a verdict and in words. Only what this run used counts,
/// because an earlier step may have had processes killed.
pub(crate) fn cause_of_death(end: End, used: &CellUsage) -> (Verdict, String) {
    const SIGKILL: i32 = 9;
    match end {
        End::Signaled(SIGKILL) | End::Killed if used.oom_kills > Some(0) => {
            (Verdict::Oom, "it used more memory than its limit allows and the kernel killed it".to_owned())
        }
        End::Signaled(signal) => {
            (Verdict::Signaled { signal }, format!("the process was killed by signal {signal}"))
        }
        End::Exited(code) => (Verdict::Exited { code }, format!("the process exited with code {code}")),
        End::Killed => (Verdict::Infra, "the cell was lost, and not by the script's doing".to_owned()),
    }
}

/// What a guest wrote, with secrets hidden. Records what had to be changed.
fn hidden((json, repaired): (Json, Repairs), mask: &Mask, repairs: &mut Repairs) -> Json {
    let (json, masked) = mask.json(json);
    repairs.add(repaired);
    repairs.add(masked);
    json
}

fn with_separators(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Captured {
    fn new(mask: &Mask) -> Self {
        Self { text: String::new(), masked: mask.stream(), decoder: Decoder::default() }
    }

    fn take(&mut self, bytes: &[u8]) -> Option<String> {
        let text = self.decoder.push(&self.masked.push(bytes));
        self.keep(text)
    }

    fn finish(&mut self) -> Option<String> {
        let text = self.decoder.push(&self.masked.finish()) + &self.decoder.finish();
        self.keep(text)
    }

    fn keep(&mut self, text: String) -> Option<String> {
        self.text.push_str(&text);
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::Secret;
    use belljar_core::wire::Envelope;

    use super::*;

    fn facts(ending: Ending) -> Facts<'static> {
        let limits = Box::leak(Box::default());
        let conditions =
            Conditions { timeout: Duration::from_secs(1), limits, engine: "test", warnings: &[] };
        Facts {
            conditions,
            ending,
            elapsed: Duration::from_millis(1500),
            used: CellUsage::default(),
            scratch_was_full: false,
            was_interrupted: false,
            network: Vec::new(),
            place: None,
        }
    }

    impl Transcript {
        /// The result, without the events.
        fn concluded(self, facts: &Facts<'_>) -> ExecutionResult {
            let (result, events) = self.conclude(facts);
            let last = events.last().map(|event| &event.kind);
            assert_eq!(last, Some(&EventKind::Ended { result: Arc::clone(&result) }));
            Arc::unwrap_or_clone(result)
        }
    }

    fn after(frames: &[&str], mode: ExecutionMode) -> Transcript {
        let mut transcript = Transcript::new(ExecutionId::new("e"), mode, Mask::default());
        for frame in frames {
            transcript.frame(Envelope::parse(frame.as_bytes()).unwrap().frame, false);
        }
        transcript
    }

    fn dead(end: End, oom_kills: u64) -> Facts<'static> {
        let used = CellUsage { oom_kills: Some(oom_kills), ..CellUsage::default() };
        Facts { used, ..facts(Ending::Died(Autopsy { end, usage: CellUsage::default() })) }
    }

    const DONE: &str = r#"{"type":"script_done"}"#;

    #[test]
    fn a_script_that_ends_without_a_result_failed_as_a_plan_and_is_fine_as_a_step() {
        let plan = after(&[DONE], ExecutionMode::Plan).concluded(&facts(Ending::Finished));
        assert_eq!(plan.verdict, Verdict::NoResult);
        let step = after(&[DONE], ExecutionMode::Interactive).concluded(&facts(Ending::Finished));
        assert_eq!((step.verdict, step.final_data), (Verdict::Ok, None));
    }

    #[test]
    fn the_first_outcome_stands() {
        let frames = [
            r#"{"type":"final_result","data":1}"#,
            r#"{"type":"final_result","data":2}"#,
            r#"{"type":"error","message":"late"}"#,
        ];
        let result = after(&frames, ExecutionMode::Plan).concluded(&facts(Ending::Finished));
        assert_eq!((result.verdict, result.final_data.unwrap().as_str()), (Verdict::Ok, "1"));
    }

    #[test]
    fn a_null_result_is_a_result() {
        let result = after(&[r#"{"type":"final_result","data":null}"#], ExecutionMode::Plan);
        assert_eq!(result.concluded(&facts(Ending::Finished)).final_data.unwrap().as_str(), "null");
    }

    #[test]
    fn a_guest_that_claims_a_timeout_before_time_is_not_believed() {
        let claim = br#"{"type":"error","message":"Script timed out after 1s","timed_out":true}"#;
        let verdict = |time_is_up| {
            let mut transcript = after(&[], ExecutionMode::Plan);
            transcript.frame(Envelope::parse(claim).unwrap().frame, time_is_up);
            transcript.concluded(&facts(Ending::Finished)).verdict
        };
        assert_eq!(verdict(true), Verdict::TimeoutWall);
        // It is late enough when the verdict is given, but it was not when the guest said so.
        assert_eq!(verdict(false), Verdict::Exception);
    }

    #[test]
    fn each_death_has_its_own_verdict() {
        let verdict = |facts: Facts<'_>| after(&[], ExecutionMode::Plan).concluded(&facts).verdict;
        assert_eq!(verdict(dead(End::Exited(3), 0)), Verdict::Exited { code: 3 });
        assert_eq!(verdict(dead(End::Signaled(9), 0)), Verdict::Signaled { signal: 9 });
        assert_eq!(verdict(dead(End::Signaled(9), 1)), Verdict::Oom);
        assert_eq!(verdict(dead(End::Killed, 1)), Verdict::Oom);
        assert_eq!(verdict(dead(End::Killed, 0)), Verdict::Infra);
        assert_eq!(verdict(facts(Ending::Deadline)), Verdict::TimeoutWall);
        assert_eq!(verdict(facts(Ending::Flood)), Verdict::Output);
        assert_eq!(verdict(facts(Ending::CpuSpent)), Verdict::TimeoutCpu);
        assert_eq!(verdict(facts(Ending::Cancelled)), Verdict::Cancelled);
    }

    #[test]
    fn a_failure_beside_a_limit_that_was_hit_is_the_limits_doing() {
        let frames = [r#"{"type":"error","message":"OSError"}"#];
        let verdict = |facts| after(&frames, ExecutionMode::Plan).concluded(&facts).verdict;
        let killed = CellUsage { oom_kills: Some(1), ..CellUsage::default() };
        assert_eq!(verdict(Facts { used: killed, ..facts(Ending::Finished) }), Verdict::Oom);
        assert_eq!(verdict(Facts { scratch_was_full: true, ..facts(Ending::Finished) }), Verdict::Disk);
        assert_eq!(verdict(facts(Ending::Finished)), Verdict::Exception);
        let fine = after(&[r#"{"type":"final_result","data":1}"#], ExecutionMode::Plan);
        assert_eq!(fine.concluded(&Facts { used: killed, ..facts(Ending::Finished) }).verdict, Verdict::Ok);
    }

    #[test]
    fn a_failure_after_refused_forks_is_the_limits_doing() {
        let frames = [r#"{"type":"error","message":"BlockingIOError"}"#];
        let refused = CellUsage { forks_refused: Some(1), ..CellUsage::default() };
        let result = after(&frames, ExecutionMode::Plan)
            .concluded(&Facts { used: refused, ..facts(Ending::Finished) });
        assert_eq!(result.verdict, Verdict::Pids);
    }

    #[test]
    fn a_secret_is_hidden_wherever_the_guest_puts_it() {
        let mask = Mask::new(&[Secret::new("hunter2")]);
        let mut transcript = Transcript::new(ExecutionId::new("e"), ExecutionMode::Plan, mask);
        let frames = [
            r#"{"type":"log","message":"hunter2"}"#,
            r#"{"type":"intermediate","label":"hunter2","data":"\u0068unter2"}"#,
            r#"{"type":"error","message":"no hunter2","traceback":"at hunter2"}"#,
        ];
        let mut events: Vec<_> = frames
            .iter()
            .filter_map(|frame| transcript.frame(Envelope::parse(frame.as_bytes()).unwrap().frame, false))
            .collect();
        events.extend(transcript.printed(OutputStream::Stdout, b"my hunt"));
        events.extend(transcript.printed(OutputStream::Stdout, b"er2 and a hunter"));
        events.extend(transcript.printed(OutputStream::Stderr, b"hunter2"));
        events.extend(transcript.rest());
        let result = transcript.concluded(&facts(Ending::Finished));
        assert!(!format!("{events:?} {result:?}").contains("hunter2"), "{events:#?} {result:#?}");
        assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("my *** and a hunter", "***"));
        assert_eq!(result.error.as_deref(), Some("no ***"));
    }

    #[test]
    fn events_and_result_agree_on_what_was_printed() {
        let mut transcript = after(&[], ExecutionMode::Plan);
        let mut told = String::new();
        let mut hear = |event: Event| match event.kind {
            EventKind::Stdout { text } => told.push_str(&text),
            other => panic!("{other:?}"),
        };
        for piece in [&b"a\xe2\x82"[..], b"\xac b\xe2"] {
            transcript.printed(OutputStream::Stdout, piece).map(&mut hear);
        }
        transcript.rest().for_each(hear);
        let result = transcript.concluded(&facts(Ending::Finished));
        assert_eq!((told.as_str(), result.stdout.as_str()), ("a€ b\u{fffd}", "a€ b\u{fffd}"));
    }

    #[test]
    fn a_flood_after_the_result_is_still_a_flood() {
        let result = after(&[r#"{"type":"final_result","data":1}"#], ExecutionMode::Plan)
            .concluded(&facts(Ending::Flood));
        assert_eq!(result.verdict, Verdict::Output);
        assert_eq!(result.error.unwrap(), "Script output exceeded 1,048,576 byte limit");
        assert_eq!(result.final_data, None);
    }
}
