//! Hosts that fork without `exec`.

use std::panic::AssertUnwindSafe;

use belljar::{Runtime, RuntimeError, Sandbox, SandboxConfig, Session};

use crate::no_tokio::block_on;
use crate::system::{ends_well, fork};

type Opened = (Runtime, Sandbox, Session);

async fn open() -> Opened {
    let runtime = Runtime::new().await.expect("a runtime");
    let config = SandboxConfig { pool_size: 2, ..SandboxConfig::default() };
    let sandbox = runtime.sandbox(config).await.expect("a sandbox");
    let mut session = sandbox.session().await.expect("a session");
    session.step("x = 42").await.expect("a step");
    (runtime, sandbox, session)
}

async fn works((runtime, sandbox, mut session): Opened) {
    let result = session.step("emit_result(x)").await.expect("a step");
    assert_eq!(result.final_data.expect("a result").as_str(), "42");
    for _ in 0..5 {
        let result = sandbox.run("emit_result(1)").await.expect("a run");
        assert!(result.final_data.is_some(), "{result:#?}");
    }
    runtime.shutdown().await;
}

/// Nothing that was opened before the fork can be used after it. All of it can be dropped.
async fn is_told((runtime, sandbox, mut session): Opened) {
    let is_clear = |error: RuntimeError| {
        assert!(matches!(error, RuntimeError::Forked { .. }), "{error}");
    };
    is_clear(sandbox.run("1").await.expect_err("no cell is its own"));
    is_clear(session.step("1").await.expect_err("no cell is its own"));
    is_clear(sandbox.stream("1").result().await.expect_err("no cell is its own"));
    is_clear(session.stream("1").result().await.expect_err("no cell is its own"));
    is_clear(runtime.sandbox(SandboxConfig::default()).await.err().expect("no zygote is its own"));
    sandbox.close().await;
    runtime.shutdown().await;
}

/// A child that was forked is told that it has nothing, can drop all of it, and can begin anew. Its
/// parent goes on as if nothing had happened.
pub(crate) fn forked_child() {
    let opened = block_on(open());
    let mut for_child = Some(opened);
    let child = fork(AssertUnwindSafe(|| {
        block_on(is_told(for_child.take().expect("it is taken once")));
        block_on(async { works(open().await).await });
    }));
    ends_well(child);
    block_on(works(for_child.take().expect("the child took its own copy")));
}

/// A host that opens everything and then becomes a daemon.
pub(crate) fn daemon() {
    let mut opened = Some(block_on(open()));
    let child = fork(AssertUnwindSafe(|| {
        let _ = rustix::process::setsid();
        fork(AssertUnwindSafe(|| {
            block_on(is_told(opened.take().expect("it is taken once")));
            block_on(async { works(open().await).await });
            #[expect(clippy::print_stdout, reason = "the test reads it")]
            {
                println!("the daemon is well");
            }
        }));
    }));
    ends_well(child);
    std::mem::forget(opened);
}
