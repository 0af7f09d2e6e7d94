//! Hosts that have tokio runtimes, and are careless with them.

use std::time::Duration;

use belljar::{Runtime, RuntimeError, Sandbox, SandboxConfig, Verdict};
use tokio::runtime::Builder;

pub(crate) fn multi_thread() -> tokio::runtime::Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a tokio runtime")
}

pub(crate) fn current_thread() -> tokio::runtime::Runtime {
    Builder::new_current_thread().enable_all().build().expect("a tokio runtime")
}

pub(crate) async fn open() -> (Runtime, Sandbox) {
    let runtime = Runtime::new().await.expect("a runtime");
    let config = SandboxConfig { pool_size: 2, ..SandboxConfig::default() };
    let sandbox = runtime.sandbox(config).await.expect("a sandbox");
    (runtime, sandbox)
}

pub(crate) async fn answers(sandbox: &Sandbox) {
    for _ in 0..5 {
        let result = sandbox.run("emit_result(6 * 7)").await.expect("a run");
        assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    }
}

/// Sessions and unfinished runs are dropped where there is no tokio, by `main` after `block_on`.
pub(crate) fn dropped_outside() {
    let tokio = multi_thread();
    let (runtime, sandbox, session, execution) = tokio.block_on(async {
        let (runtime, sandbox) = open().await;
        let mut session = sandbox.session().await.expect("a session");
        session.step("x = 1").await.expect("a step");
        let script = "emit_intermediate('on', 1)\nwhile True: pass";
        let (mut execution, mut dropped) = (sandbox.stream(script), sandbox.stream(script));
        execution.next().await.expect("it is under way");
        dropped.next().await.expect("it is under way");
        (runtime, sandbox, session, (execution, dropped))
    });
    let (execution, dropped) = execution;
    drop(dropped);
    drop(session);
    drop(tokio);
    let gone = crate::no_tokio::block_on(execution.result());
    assert!(matches!(gone, Err(RuntimeError::Abandoned)), "{gone:?}");
    // It works on, and its end can be waited for without any tokio.
    crate::no_tokio::block_on(async {
        answers(&sandbox).await;
        runtime.shutdown().await;
    });
}

/// The sandbox is opened on a runtime that nobody drives, and used from another.
pub(crate) fn opened_on_an_idle_runtime() {
    let idle = current_thread();
    let (runtime, sandbox) = idle.block_on(open());
    let other = multi_thread();
    other.block_on(async {
        answers(&sandbox).await;
        let mut session = sandbox.session().await.expect("a session");
        let result = session.step("1 + 1").await.expect("a step");
        assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
        runtime.shutdown().await;
    });
    drop(idle);
}

/// The runtime that a sandbox was opened on is dropped, at any moment, and the next one goes on.
pub(crate) fn opened_on_a_runtime_that_is_gone() {
    let mut tokio = multi_thread();
    let (runtime, sandbox) = tokio.block_on(open());
    let mut session = tokio.block_on(sandbox.session()).expect("a session");
    tokio.block_on(session.step("x = 6")).expect("a step");
    for round in 0..10u32 {
        // While cells are being made in place of those that are used up.
        let _ = tokio.block_on(async {
            tokio::time::timeout(Duration::from_micros(200 * u64::from(round)), sandbox.warm(3)).await
        });
        tokio.shutdown_background();
        tokio = if round % 2 == 0 { current_thread() } else { multi_thread() };
        tokio.block_on(async {
            answers(&sandbox).await;
            let result = session.step("emit_result(x * 7)").await.expect("a step");
            assert_eq!(result.final_data.expect("a result").as_str(), "42");
        });
    }
    tokio.block_on(runtime.shutdown());
}

/// A test of the host's own, whose clock stands still and jumps when nobody has anything to do.
pub(crate) fn paused_clock() {
    let tokio =
        Builder::new_current_thread().enable_all().start_paused(true).build().expect("a tokio runtime");
    tokio.block_on(async {
        let (runtime, sandbox) = open().await;
        answers(&sandbox).await;
        let mut execution = sandbox.stream("import time; time.sleep(0.2); emit_result(1)");
        while execution.next().await.is_some() {}
        let result = execution.result().await.expect("a result");
        assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
        runtime.shutdown_within(Duration::from_secs(1)).await;
    });
}
