//! Steps share their variables; sessions do not.

use std::time::Duration;

use belljar_runtime::{ExecutionRequest, RuntimeError, Verdict};

use crate::support::{config, runtime, sandbox_with};

#[tokio::test]
async fn a_session_keeps_its_variables_and_a_second_one_does_not_see_them() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let first = session.step("x = 1").await.unwrap();
    assert_eq!((first.verdict, first.final_data), (Verdict::Ok, None));
    session.step("x += 1\ndef double(y): return 2 * y").await.unwrap();
    let third = session.step("emit_result(double(x))").await.unwrap();
    assert_eq!(third.final_data.unwrap().as_str(), "4");
    let mut other = sandbox.session().await.unwrap();
    let stranger = other.step("emit_result(x)").await.unwrap();
    assert!(stranger.error.unwrap().contains("NameError"));
}

#[tokio::test]
async fn a_failed_step_leaves_the_session_usable() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 1").await.unwrap();
    let failed = session.step("y = 2\nraise ValueError('no')").await.unwrap();
    assert_eq!(failed.verdict, Verdict::Exception);
    assert!(failed.traceback.unwrap().contains("line 2"));
    assert_eq!(session.step("emit_result(x + y)").await.unwrap().final_data.unwrap().as_str(), "3");
}

#[tokio::test]
async fn a_step_shows_the_value_of_its_last_expression() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    assert_eq!(session.step("x = [1, 2]\nx * 2").await.unwrap().stdout, "[1, 2, 1, 2]\n");
    assert_eq!(session.step("None").await.unwrap().stdout, "");
}

#[tokio::test]
async fn a_step_that_crashes_ends_the_session_and_says_so() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    assert_eq!(session.step("os._exit(5)").await.unwrap().verdict, Verdict::Exited { code: 5 });
    assert!(!session.is_alive());
    assert!(matches!(session.step("1").await, Err(RuntimeError::SessionOver { .. })));
}

#[tokio::test]
async fn a_step_that_obeys_its_alarm_leaves_the_session_alive() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 1").await.unwrap();
    let late = ExecutionRequest::new("while True: time.sleep(0.01)").with_timeout(Duration::from_millis(500));
    let late = session.step(late).await.unwrap();
    assert_eq!(late.verdict, Verdict::TimeoutWall, "{late:#?}");
    if session.is_alive() {
        assert_eq!(session.step("emit_result(x)").await.unwrap().final_data.unwrap().as_str(), "1");
    }
}

#[tokio::test]
async fn a_dropped_step_ends_the_session() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let (began, seen) = tokio::sync::oneshot::channel();
    let mut began = Some(began);
    let step = session.step_with("emit_intermediate('began', 1)\nwhile True: pass", move |_| {
        began.take().map(|began| began.send(()));
    });
    tokio::select! {
        _ = step => panic!("an endless step ended"),
        _ = seen => {}
    }
    assert!(!session.is_alive());
}
