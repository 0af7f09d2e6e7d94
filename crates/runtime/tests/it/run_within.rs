//! One deadline for everything: the wait for a cell, and the script.

use std::time::{Duration, Instant};

use belljar_runtime::{CheckoutError, ExecutionRequest, Runtime, RuntimeError, Verdict};
use belljar_testing::{HANG, build, config, data, eventually, in_time, run, sandbox_with, session};

/// The time limit that the harness was told, in seconds.
const LIMIT: &str = "
import sys
here = sys._getframe()
while not isinstance(here.f_locals.get('request'), dict): here = here.f_back
emit_result(here.f_locals['request']['timeout'])
";

const ENDLESS: &str = "while True: time.sleep(1)";

#[tokio::test]
async fn no_cell_before_the_deadline_is_an_error_that_says_so() {
    let Some(runtime) = build(Runtime::builder().max_overflow(1)) else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let held = session(&sandbox).await;
    let within = Duration::from_millis(30);
    let refused = in_time(sandbox.run_within(within, "emit_result(1)")).await;
    let told = refused.as_ref().map_err(ToString::to_string);
    assert!(told.is_err_and(|told| told.contains("came free within 30 ms: 1 of 1 are in use")));
    let error = in_time(sandbox.stream_within(within, "emit_result(1)").result()).await.unwrap_err();
    let told = matches!(&error, RuntimeError::Checkout(CheckoutError::TimedOut { in_use: 1, .. }));
    assert!(told, "{error}");
    assert_eq!(sandbox.stats().waiting, 0, "its place is given up");
    // A shorter wait is kept, a longer one is cut.
    let hurried = sandbox.clone().with_checkout_timeout(Duration::from_millis(10));
    let error = in_time(hurried.run_within(HANG, "emit_result(1)")).await.unwrap_err();
    assert!(error.to_string().contains("within 10 ms"), "{error}");
    let patient = sandbox.clone().with_checkout_timeout(HANG * 10);
    let error = in_time(patient.run_within(within, "emit_result(1)")).await.unwrap_err();
    assert!(error.to_string().contains("within 30 ms"), "{error}");
    drop(held);
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
}

#[tokio::test]
async fn a_script_has_what_the_wait_for_its_cell_has_left() {
    let Some(runtime) = build(Runtime::builder().max_overflow(1)) else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let held = session(&sandbox).await;
    let within = HANG;
    let request = ExecutionRequest::new(LIMIT).with_timeout(10 * within);
    let waiting = {
        let sandbox = sandbox.clone();
        tokio::spawn(async move { sandbox.run_within(within, request).await })
    };
    eventually("it waits in line", || sandbox.stats().waiting == 1).await;
    let begun = Instant::now();
    eventually("time has passed", || begun.elapsed() > Duration::from_millis(300)).await;
    let at_most = within - begun.elapsed();
    drop(held);
    let result = in_time(waiting).await.unwrap().unwrap();
    let limit: f64 = data(&result).parse().unwrap();
    assert!(limit > 0.0 && limit <= at_most.as_secs_f64(), "{limit} s, but {at_most:?} were left");
}

#[tokio::test]
async fn the_shortest_of_all_limits_counts_and_stops_the_script_as_any_other() {
    let Some(runtime) = build(Runtime::builder()) else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let second = Duration::from_secs(1);
    // Not long for making a cell on a busy machine, so one is made before.
    sandbox.warm(1).await.unwrap();
    let long = ExecutionRequest::new(ENDLESS).with_timeout(10 * HANG);
    let stopped = in_time(sandbox.run_within(second, long)).await.unwrap();
    assert_eq!(stopped.verdict, Verdict::TimeoutWall, "{stopped:#?}");
    let request = ExecutionRequest::new(ENDLESS).with_timeout(second);
    let stopped = in_time(sandbox.run_within(HANG, request)).await.unwrap();
    assert_eq!(stopped.verdict, Verdict::TimeoutWall, "{stopped:#?}");
    let limit = in_time(sandbox.run_within(HANG, ExecutionRequest::new(LIMIT).with_timeout(second))).await;
    assert_eq!(data(&limit.unwrap()), "1.0");
    let mut stream = sandbox.stream_within(HANG, "emit_result(1)");
    while in_time(stream.next()).await.is_some() {}
    assert_eq!(data(&stream.result().await.unwrap()), "1");
}

#[tokio::test]
async fn a_deadline_of_nothing_is_refused_before_anything_begins() {
    let Some(runtime) = build(Runtime::builder().max_overflow(1)) else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let error = sandbox.run_within(Duration::ZERO, "emit_result(1)").await.unwrap_err();
    assert!(matches!(error, RuntimeError::Timeout { seconds: 0.0 }), "{error}");
    assert_eq!(sandbox.stats().waited, 0, "no cell was asked for");
    // One without end is no limit of its own.
    assert_eq!(data(&in_time(sandbox.run_within(Duration::MAX, "emit_result(1)")).await.unwrap()), "1");
}
