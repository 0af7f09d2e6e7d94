//! Everything is told as it happens, and can be ended at any time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use belljar_agent::model::{ScriptedModel, ScriptedReply};
use belljar_agent::{AgentEvent, AgentMode, GaveUp, Outcome, RunRecord, ToolOrchestrator};
use belljar_core::Verdict;
use belljar_runtime::EventKind;
use belljar_testing::{config, eventually, in_time, runtime, sandbox_with};

use super::{python, result_of, scripted};

/// Says where it is, and sleeps.
const SLEEPS: &str =
    "print('before', flush=True)\nemit_intermediate('here', 1)\nimport time\ntime.sleep(600)\nemit_result(1)";

/// The record of [`SLEEPS`] has what it said, and how long it took to say that.
fn assert_broken_off(record: &RunRecord) {
    let step = &record.steps[0];
    assert!(step.script.is_some());
    let result = step.result.as_ref().unwrap();
    assert_eq!((&result.verdict, result.stdout.as_str()), (&Verdict::Cancelled, "before\n"), "{record:#?}");
    assert_eq!(result.intermediates.len(), 1);
    assert!(step.run_ms > 0.0 && step.run_ms <= record.duration_ms, "{record:#?}");
}

fn name(event: &AgentEvent) -> String {
    let json = serde_json::to_value(event).unwrap();
    match event {
        AgentEvent::Run { event, .. } => format!("run:{}", event.kind.name()),
        _ => json["type"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn a_callback_and_a_stream_are_told_the_same_in_order() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let expected = [
        "started",
        "prompt",
        "model_text",
        "reply",
        "script",
        "vetted",
        "run:stdout",
        "run:final_result",
        "run:script_done",
        "run:ended",
        "step_ended",
        "ended",
    ];
    let script = "print('x')\nemit_result(1)";
    let told = Mutex::new(Vec::new());
    let orchestrator = ToolOrchestrator::new(sandbox.clone(), scripted(&[script, script]));
    let callback = |event| told.lock().unwrap().push(event);
    let record = in_time(orchestrator.run_with("t", callback)).await.unwrap();
    let told = told.into_inner().unwrap();
    let mut streaming = orchestrator.stream("t");
    let mut streamed = Vec::new();
    while let Some(event) = in_time(streaming.next()).await {
        streamed.push(event);
    }
    let again = in_time(streaming.record()).await.unwrap();
    for (events, record) in [(&told, &record), (&streamed, &again)] {
        let mut names: Vec<String> = events.iter().map(name).collect();
        names.dedup();
        assert_eq!(names, expected);
        assert!(matches!(events.last(), Some(AgentEvent::Ended { record: last }) if **last == *record));
        let said: String = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::ModelText { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(said, python(script));
    }
}

#[tokio::test]
async fn a_reader_who_takes_no_event_gets_the_record() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "for n in range(500): emit_intermediate('n', n)\nemit_result(n)";
    let record = in_time(ToolOrchestrator::new(sandbox, scripted(&[script])).stream("t").record()).await;
    assert_eq!(result_of(&record.unwrap()), Some("499"));
}

#[tokio::test]
async fn cancelling_leaves_the_record_and_ends_the_run() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for mode in [AgentMode::Plan, AgentMode::Interactive] {
        let model = scripted(&[SLEEPS]);
        let mut run = ToolOrchestrator::new(sandbox.clone(), model).mode(mode).stream("t");
        let handle = run.handle();
        let (mut last, mut ended) = (None, 0);
        while let Some(event) = in_time(run.next()).await {
            if let AgentEvent::Run { event, .. } = &event
                && matches!(event.kind, EventKind::Intermediate { .. })
            {
                handle.cancel();
            }
            ended += usize::from(name(&event) == "run:ended");
            last = Some(event);
        }
        assert!(matches!(last, Some(AgentEvent::Ended { .. })));
        assert_eq!(ended, 1, "the run's own end is told, too");
        let record = in_time(run.record()).await.unwrap();
        assert_eq!((&record.outcome, record.steps.len()), (&Outcome::Cancelled, 1), "{record:#?}");
        assert_broken_off(&record);
        in_time(sandbox.at_rest()).await;
    }
}

#[tokio::test]
async fn a_run_that_takes_too_long_leaves_what_it_said() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for mode in [AgentMode::Plan, AgentMode::Interactive] {
        // Nobody knows how long it takes until the script has begun. So it is more each time.
        for seconds in [2, 8, 32] {
            let orchestrator = ToolOrchestrator::new(sandbox.clone(), scripted(&[SLEEPS]))
                .mode(mode)
                .vetting(None)
                .limited(|limits| limits.time = Duration::from_secs(seconds));
            let record = in_time(orchestrator.run("t")).await.unwrap();
            assert_eq!(record.outcome, Outcome::GaveUp { reason: GaveUp::Time });
            in_time(sandbox.at_rest()).await;
            let result = record.steps[0].result.as_ref();
            if seconds == 32 || result.is_some_and(|result| !result.stdout.is_empty()) {
                assert_broken_off(&record);
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_dropped_stream_ends_its_run() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model = scripted(&[SLEEPS]);
    let mut run = ToolOrchestrator::new(sandbox.clone(), model).stream("t");
    while let Some(event) = in_time(run.next()).await {
        if matches!(&event, AgentEvent::Run { .. }) {
            break;
        }
    }
    drop(run);
    eventually("its cell is given back", || sandbox.stats().leased == 0).await;
}

#[tokio::test]
async fn time_is_bounded_while_the_model_says_nothing() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model = Arc::new(ScriptedModel::new([ScriptedReply::Hang("thinking".into())]));
    let orchestrator =
        ToolOrchestrator::new(sandbox, model).limited(|limits| limits.time = Duration::from_millis(300));
    let record = in_time(orchestrator.run("t")).await.unwrap();
    assert_eq!(record.outcome, Outcome::GaveUp { reason: GaveUp::Time });
    let step = &record.steps[0];
    assert_eq!(step.reply, "thinking");
    assert!(step.model_ms > 0.0 && step.model_ms <= record.duration_ms, "{record:#?}");
}
