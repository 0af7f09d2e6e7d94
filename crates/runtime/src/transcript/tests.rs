//! Which verdict follows from what, and what a result may hold.

use std::time::Duration;

use belljar_core::wire::Envelope;
use belljar_core::{Secret, Verdict};
use belljar_engine::{Autopsy, CellUsage, End};

use super::*;

fn facts(ending: Ending) -> Facts<'static> {
    let limits = Box::leak(Box::default());
    let conditions = Conditions { timeout: Duration::from_secs(1), limits, engine: "test", warnings: &[] };
    Facts {
        conditions,
        ending,
        elapsed: Duration::from_millis(1500),
        used: CellUsage::default(),
        scratch_was_full: false,
        was_interrupted: false,
        network: Vec::new(),
        place: None,
        files: Default::default(),
        stdin_failure: None,
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
    let result =
        after(&frames, ExecutionMode::Plan).concluded(&Facts { used: refused, ..facts(Ending::Finished) });
    assert_eq!(result.verdict, Verdict::Pids);
}

#[test]
fn a_secret_is_hidden_wherever_the_guest_puts_it() {
    let mask = Mask::new(&[Secret::new("hunter2")]);
    let mut transcript = Transcript::new(ExecutionId::new("e"), ExecutionMode::Plan, mask);
    let frames = [
        r#"{"type":"log","message":"hunter2"}"#,
        r#"{"type":"intermediate","label":"hunter2","data":"\u0068unter2"}"#,
        r#"{"type":"display","data":{"text/html":"<b>hunter2</b>","application/json":{"hunter2":"\u0068unter2"}}}"#,
        // "my hunter2" in base64.
        r#"{"type":"display","data":{"image/x-any":"bXkgaHVudGVyMg==","text/plain":"a picture"}}"#,
        r#"{"type":"display","data":{"text/x-hunter2":"its type","text/plain":"a type"}}"#,
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
    let shown = serde_json::to_string(&result.displays).unwrap();
    let expected = r#"[{"data":{"application/json":{"***":"***"},"text/html":"<b>***</b>"}},{"data":{"text/plain":"a picture"}},{"data":{"text/plain":"a type"}}]"#;
    assert_eq!(shown, expected);
    assert_eq!(result.warnings, ["2 forms of displays are missing: the value of a secret was found there"]);
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
    let result =
        after(&[r#"{"type":"final_result","data":1}"#], ExecutionMode::Plan).concluded(&facts(Ending::Flood));
    assert_eq!(result.verdict, Verdict::Output);
    assert_eq!(result.error.unwrap(), "Script output exceeded 1,048,576 byte limit");
    assert_eq!(result.final_data, None);
}
