//! Steps share their variables. Sessions do not.

use belljar_runtime::{EventKind, ExecutionResult, RuntimeError, Session, Verdict};

use super::claim::claims;
use super::subject::{Subject, step};
use crate::running::{data, session};
use crate::waiting::in_time;

claims! {
    a_session_keeps_its_variables_and_a_second_one_does_not_see_them,
    a_failed_step_leaves_the_session_usable,
    a_step_that_crashes_ends_the_session,
    an_interrupted_step_ends_and_the_session_keeps_its_variables,
    a_step_that_catches_its_interrupt_goes_on,
    a_cancelled_step_ends_the_session,
}

async fn a_session_keeps_its_variables_and_a_second_one_does_not_see_them(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let (mut first, mut second) = (session(&sandbox).await, session(&sandbox).await);
    let begun = step(&mut first, "x = 1").await;
    assert_eq!((begun.verdict, begun.final_data), (Verdict::Ok, None));
    step(&mut first, "x += 1\ndef double(y): return 2 * y").await;
    assert_eq!(data(&step(&mut first, "emit_result(double(x))").await), "4");
    let stranger = step(&mut second, "emit_result(x)").await;
    assert!(stranger.error.as_ref().is_some_and(|error| error.contains("NameError")), "{stranger:#?}");
}

async fn a_failed_step_leaves_the_session_usable(subject: &Subject) {
    let mut session = subject.session().await;
    let failed = step(&mut session, "x = 2\nraise ValueError('no')").await;
    assert_eq!(failed.verdict, Verdict::Exception);
    assert!(failed.traceback.as_ref().is_some_and(|lines| lines.contains("line 2")), "{failed:#?}");
    assert_eq!(data(&step(&mut session, "emit_result(x)").await), "2");
}

async fn a_step_that_crashes_ends_the_session(subject: &Subject) {
    let mut session = subject.session().await;
    assert_eq!(step(&mut session, "os._exit(5)").await.verdict, Verdict::Exited { code: 5 });
    assert!(!session.is_alive());
    assert!(matches!(in_time(session.step("1")).await, Err(RuntimeError::SessionOver { .. })));
}

/// Runs a step that says when it is under way, and interrupts it then.
async fn interrupted(session: &mut Session, script: &str) -> ExecutionResult {
    let handle = session.interrupt_handle();
    let step = session.step_with(script, |event| {
        if matches!(event.kind, EventKind::Intermediate { .. }) {
            handle.interrupt();
        }
    });
    in_time(step).await.expect("the step can be made")
}

async fn an_interrupted_step_ends_and_the_session_keeps_its_variables(subject: &Subject) {
    let mut session = subject.session().await;
    for (round, wait) in ["while True: pass", "while True: time.sleep(0.001)"].into_iter().enumerate() {
        let script = format!("x = {round}\nemit_intermediate('on', 1)\n{wait}");
        let result = interrupted(&mut session, &script).await;
        assert_eq!(result.verdict, Verdict::Cancelled, "{result:#?}");
        assert!(
            result.error.as_ref().is_some_and(|error| error.contains("KeyboardInterrupt")),
            "{result:#?}"
        );
        assert_eq!(data(&step(&mut session, "emit_result(x)").await), round.to_string());
    }
}

async fn a_step_that_catches_its_interrupt_goes_on(subject: &Subject) {
    let mut session = subject.session().await;
    let script = "try:\n    emit_intermediate('on', 1)\n    while True: pass\nexcept KeyboardInterrupt:\n    emit_result('tidied up')";
    assert_eq!(data(&interrupted(&mut session, script).await), "\"tidied up\"");
}

async fn a_cancelled_step_ends_the_session(subject: &Subject) {
    let mut session = subject.session().await;
    let mut execution = session.stream("emit_intermediate('on', 1)\ntime.sleep(1000)");
    in_time(execution.next()).await.expect("it begins");
    assert!(matches!(in_time(session.step("1")).await, Err(RuntimeError::StepUnderWay { .. })));
    execution.cancel();
    let result = in_time(execution.result()).await.expect("it has a result");
    assert_eq!(result.verdict, Verdict::Cancelled);
    assert!(matches!(in_time(session.step("1")).await, Err(RuntimeError::SessionOver { .. })));
}
