//! What can be refused is refused before a cell is taken.

use std::time::Duration;

use belljar_runtime::{ExecutionRequest, Fault, RuntimeError, SandboxConfig};
use belljar_testing::{config, data, eventually, runtime, sandbox_with};

const DAY: Duration = Duration::from_secs(86_400);

/// Every request that cannot be run, with what is said about it.
fn bad_requests() -> [(ExecutionRequest, &'static str); 5] {
    let fine = || ExecutionRequest::new("emit_result(1)");
    [
        (fine().with_timeout(Duration::ZERO), "a time limit of 0 s is invalid"),
        (fine().with_timeout(DAY + Duration::from_nanos(1)), "must be more than 0 and at most 86400"),
        (fine().with_timeout(Duration::MAX), "is invalid"),
        (ExecutionRequest::new(" \n"), "the script is empty"),
        (ExecutionRequest::new("x = '\0'"), "has a NUL byte at line 1"),
    ]
}

#[track_caller]
fn assert_refused<T>(outcome: Result<T, RuntimeError>, said: &str) {
    let error = outcome.err().expect("it is refused");
    assert_eq!(error.fault(), Fault::Caller, "{error}");
    assert!(error.to_string().contains(said), "{error}");
}

#[tokio::test]
async fn a_step_that_is_refused_leaves_the_session_and_its_variables() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    // Refused as the first step too, in a cell in which nothing has run.
    for (request, said) in bad_requests() {
        assert_refused(session.step(request).await, said);
    }
    session.step("x = 41").await.unwrap();
    for (request, said) in bad_requests() {
        assert_refused(session.step(request.clone()).await, said);
        assert_refused(session.stream(request).result().await, said);
        assert!(session.is_alive(), "{said}");
    }
    assert_eq!(data(&session.step("x += 1\nemit_result(x)").await.unwrap()), "42");
    assert_eq!(sandbox.stats().made, 1, "a cell was spent");
}

#[tokio::test]
async fn a_run_that_is_refused_spends_no_cell() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size: 1, ..config() }).await;
    eventually("the stock is full", || sandbox.stats().idle == 1).await;
    let before = sandbox.stats();
    for (request, said) in bad_requests() {
        assert_refused(sandbox.run(request.clone()).await, said);
        assert_refused(sandbox.stream(request).result().await, said);
    }
    assert_eq!(sandbox.stats(), before, "the stock was touched");
    assert_eq!(data(&sandbox.run("emit_result(1)").await.unwrap()), "1");
}
