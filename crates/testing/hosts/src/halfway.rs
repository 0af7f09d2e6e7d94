//! Hosts that change their minds in the middle of a run: where it is polled, what the time is, and
//! whether anybody drives the runtime that they are in.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use belljar::{Event, ExecutionRequest, ExecutionResult, RuntimeError, Sandbox, Verdict};
use tokio_util::context::TokioContext;

use crate::no_tokio::block_on;
use crate::runtimes::{answers, current_thread, multi_thread, open};

/// It says when it is under way, and ends some time after that.
const SCRIPT: &str = "print('on')\ntime.sleep(0.3)\nemit_result(6 * 7)";

type Run<'a> = Pin<Box<dyn Future<Output = Result<ExecutionResult, RuntimeError>> + 'a>>;

/// A run that is polled until its script is under way, on whatever polls this.
async fn begin<'a>(sandbox: &'a Sandbox, script: &'a str) -> Run<'a> {
    let is_under_way = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&is_under_way);
    let mut run: Run<'a> = Box::pin(async move {
        sandbox.run_with(script, move |_: Event| heard.store(true, Ordering::Release)).await
    });
    std::future::poll_fn(|cx| {
        assert!(run.as_mut().poll(cx).is_pending(), "the script takes longer");
        if is_under_way.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    run
}

fn is_well(result: Result<ExecutionResult, RuntimeError>) {
    let result = result.expect("a run");
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
}

/// A run is begun on one runtime and finished on another. The first is dropped, or left undriven,
/// or is none at all.
pub(crate) fn moved() {
    let (runtime, sandbox) = block_on(open());
    let (first, second) = (current_thread(), current_thread());

    let run = first.block_on(begin(&sandbox, SCRIPT));
    is_well(second.block_on(run));

    let run = first.block_on(begin(&sandbox, SCRIPT));
    drop(first);
    is_well(second.block_on(run));

    let run = second.block_on(begin(&sandbox, SCRIPT));
    is_well(block_on(run));

    let run = block_on(begin(&sandbox, SCRIPT));
    is_well(second.block_on(run));

    // Its deadline moves with it.
    let run = second.block_on(begin(&sandbox, "print('on')\nwhile True: pass"));
    drop(second);
    drop(run);
    let limited = sandbox.run_within(Duration::from_secs(1), "while True: pass");
    let third = current_thread();
    let mut limited = Box::pin(limited);
    third.block_on(async { assert!(tokio::time::timeout(Duration::ZERO, limited.as_mut()).await.is_err()) });
    let result = current_thread().block_on(limited).expect("a run");
    assert_eq!(result.verdict, Verdict::TimeoutWall, "{result:#?}");
    block_on(runtime.shutdown());
}

/// The clock is paused while a script runs, and jumps when nobody has anything to do.
pub(crate) fn paused() {
    current_thread().block_on(async {
        let (runtime, sandbox) = open().await;
        let run = begin(&sandbox, SCRIPT).await;
        tokio::time::pause();
        is_well(run.await);
        runtime.shutdown().await;
    });
}

/// A runtime is entered, and nobody drives it. Another executor polls, or a task of another
/// runtime, or a task of a set.
pub(crate) fn entered() {
    let idle = current_thread();
    {
        let _entered = idle.enter();
        block_on(everything());
        block_on(tokio::task::LocalSet::new().run_until(everything()));
    }
    let busy = multi_thread();
    let in_idle = TokioContext::new(everything(), idle.handle().clone());
    busy.block_on(async { tokio::spawn(in_idle).await.expect("it does not panic") });
}

/// Several threads enter a runtime that nobody drives, and begin runs at any moment of its being
/// found out. A long script makes the first poll long.
pub(crate) fn entered_by_many() {
    let (runtime, sandbox) = block_on(open());
    let script = format!("emit_result(1)\n{}", "#".repeat(2 << 20));
    for _ in 0..3 {
        let idle = current_thread();
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (idle, sandbox, script) = (&idle, &sandbox, script.as_str());
                scope.spawn(move || {
                    let _entered = idle.enter();
                    std::thread::sleep(Duration::from_millis(65 * number));
                    is_well(block_on(sandbox.run(script)));
                });
            }
        });
    }
    block_on(runtime.shutdown());
}

/// The thread of a host is busy with something else, and comes back long after the script has ended
/// and its time is over.
pub(crate) fn late() {
    const TIME: Duration = Duration::from_millis(500);
    current_thread().block_on(async {
        let (runtime, sandbox) = open().await;
        let mut session = sandbox.session().await.expect("a session");
        let request =
            || ExecutionRequest::new("print('on')\ntime.sleep(0.1)\nemit_result(1)").with_timeout(TIME);
        let busy = || std::thread::sleep(4 * TIME);
        let is_in_time = |result: Result<ExecutionResult, RuntimeError>| {
            let result = result.expect("a run");
            assert_eq!((&result.verdict, result.warnings.len()), (&Verdict::Ok, 0), "{result:#?}");
        };
        let mut is_busy = false;
        let sink = |_: Event| {
            if !std::mem::replace(&mut is_busy, true) {
                tokio::spawn(async move { busy() });
            }
        };
        is_in_time(sandbox.run_with(request(), sink).await);
        let mut is_busy = false;
        let sink = |_: Event| {
            if !std::mem::replace(&mut is_busy, true) {
                tokio::spawn(async move { busy() });
            }
        };
        is_in_time(session.step_with(request(), sink).await);
        assert!(session.is_alive());
        runtime.shutdown().await;
    });
}

async fn everything() {
    let (runtime, sandbox) = open().await;
    answers(&sandbox).await;
    let mut session = sandbox.session().await.expect("a session");
    is_well(session.step("x = 6").await);
    is_well(session.stream("emit_result(x * 7)").result().await);
    is_well(sandbox.stream(SCRIPT).result().await);
    let result = sandbox.run_within(Duration::from_secs(1), "while True: pass").await.expect("a run");
    assert_eq!(result.verdict, Verdict::TimeoutWall, "{result:#?}");
    runtime.shutdown().await;
}
