//! Hosts that fork without `exec`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use belljar::{Event, Runtime, RuntimeError, Sandbox, SandboxConfig, Session};

use crate::no_tokio::block_on;
use crate::system::{ends_well, fork, fork_and_return, leave, new_pid_namespace};

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
    assert!(!session.is_alive());
    is_clear(sandbox.warm(1).await.expect_err("no cell is its own"));
    is_clear(sandbox.session().await.err().expect("no cell is its own"));
    sandbox.at_rest().await;
    assert_eq!((sandbox.stats().leased, runtime.templates().len()), (0, 0));
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

/// A run is under way when its host forks.
pub(crate) fn in_a_run() {
    let (runtime, sandbox, session) = block_on(open());
    let mut cx = Context::from_waker(Waker::noop());
    let mut run = Box::pin(sandbox.run("time.sleep(0.3)\nemit_result(1)"));
    while sandbox.stats().leased < 2 {
        assert!(run.as_mut().poll(&mut cx).is_pending(), "the script takes longer");
    }
    let mut stream = sandbox.stream("print('on')\ntime.sleep(0.3)\nemit_result(1)");
    block_on(stream.next()).expect("it is under way");
    let (mut run, mut stream) = (Some(run), Some(stream));
    let child = fork(AssertUnwindSafe(|| {
        let mut stream = stream.take().expect("it is taken once");
        assert_eq!(block_on(stream.next()), None);
        let told = block_on(stream.result());
        assert!(matches!(told, Err(RuntimeError::Forked { .. })), "{told:?}");
        let mut run = run.take().expect("it is taken once");
        let polled = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Err(RuntimeError::Forked { .. }))), "{polled:?}");
    }));
    ends_well(child);
    let stream = stream.take().expect("the child took its own copy");
    let result = block_on(stream.result()).expect("a run");
    assert!(result.final_data.is_some(), "{result:#?}");
    let result = block_on(run.take().expect("the child took its own copy")).expect("a run");
    assert!(result.final_data.is_some(), "{result:#?}");
    drop(session);
    block_on(runtime.shutdown());
}

/// A sink forks, and comes back in both processes.
pub(crate) fn in_a_sink() {
    const LINES: usize = 200;
    let (runtime, sandbox, session) = block_on(open());
    let parent = std::process::id();
    let mut child = None;
    let script = format!("for i in range({LINES}):\n    print(i)\n    time.sleep(0.001)\nemit_result(1)");
    let told = block_on(sandbox.run_with(script, |_: Event| {
        if child.is_none() {
            child = Some(fork_and_return());
            // The child has all the time in the world to take what is not its own.
            let in_child = std::process::id() != parent;
            std::thread::sleep(Duration::from_millis(if in_child { 100 } else { 300 }));
        }
    }));
    let Some(Some(child)) = child else {
        let is_told = matches!(told, Err(RuntimeError::Forked { .. }));
        leave(i32::from(!is_told));
    };
    ends_well(child);
    let result = told.expect("a run");
    assert_eq!(result.stdout.lines().count(), LINES, "{result:#?}");
    drop(session);
    block_on(runtime.shutdown());
}

/// The first process of a pid namespace forks the first process of another. Both have number 1.
pub(crate) fn same_number() {
    assert_eq!(std::process::id(), 1, "else this shows nothing");
    let mut opened = Some(block_on(open()));
    new_pid_namespace();
    let child = fork(AssertUnwindSafe(|| {
        assert_eq!(std::process::id(), 1, "else this shows nothing");
        block_on(is_told(opened.take().expect("it is taken once")));
    }));
    ends_well(child);
    let (_runtime, sandbox, mut session) = opened.take().expect("the child took its own copy");
    let result = block_on(session.step("emit_result(x)")).expect("a step");
    assert_eq!(result.final_data.expect("a result").as_str(), "42");
    // Nothing more can be forked here, once the first process of the new namespace has ended.
    drop(sandbox);
}

/// Does something while other threads use everything, and may hold any lock.
fn beside_others(runtime: &Runtime, sandbox: &Sandbox, work: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    block_on(sandbox.run("emit_result(1)")).expect("a run");
                    let _ = (sandbox.stats(), runtime.templates());
                }
            });
        }
        let done = catch_unwind(AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

/// A child that was forked at any moment waits for nobody.
pub(crate) fn at_any_moment() {
    let (runtime, sandbox, mut session) = block_on(open());
    beside_others(&runtime, &sandbox, || {
        for round in 0..20 {
            std::thread::sleep(Duration::from_micros(137 * round));
            let session = &mut session;
            ends_well(fork(AssertUnwindSafe(|| {
                let error = block_on(sandbox.run("1")).expect_err("no cell is its own");
                assert!(matches!(error, RuntimeError::Forked { .. }), "{error}");
                let _ = (sandbox.stats(), runtime.templates(), session.is_alive());
                block_on(session.step("1")).expect_err("no cell is its own");
                block_on(async {
                    sandbox.at_rest().await;
                    sandbox.close().await;
                    runtime.shutdown().await;
                });
                drop((sandbox.clone(), runtime.clone()));
                block_on(async { works(open().await).await });
            })));
        }
    });
    drop(session);
    block_on(runtime.shutdown());
}

/// Nor does one that drops everything.
pub(crate) fn drops() {
    let (runtime, sandbox, session) = block_on(open());
    beside_others(&runtime, &sandbox, || {
        for _ in 0..40 {
            let config = SandboxConfig { pool_size: 2, ..SandboxConfig::default() };
            let another = block_on(runtime.sandbox(config)).expect("a sandbox");
            let session = block_on(another.session()).expect("a session");
            let stream = another.stream("time.sleep(60)");
            let mut run = Box::pin(sandbox.run("time.sleep(60)"));
            let _ = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let mut all = Some((run, stream, session, another));
            ends_well(fork(AssertUnwindSafe(|| drop(all.take()))));
        }
    });
    drop(session);
    block_on(runtime.shutdown());
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
