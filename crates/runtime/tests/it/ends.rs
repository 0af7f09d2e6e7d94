//! Closing a sandbox and shutting a runtime down: what goes on, what ends, what is left, and what
//! everybody is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belljar_runtime::{CheckoutError, Execution, Runtime, RuntimeError, Sandbox, SandboxConfig};
use belljar_testing::{
    HANG, build, children_of, config, control_groups_of, data, directories_in, eventually, in_time, only_on,
    processes_below, run, runtime, sandbox_with,
};

use crate::sessions::shared;

fn processes() -> usize {
    processes_below(std::process::id()).len()
}

/// Whether the processes of cells are ours to count.
fn counts_processes() -> bool {
    belljar_testing::engine() == "native"
}

/// A run that has begun and would take a minute.
async fn long_run(sandbox: &Sandbox) -> Execution {
    let mut execution = sandbox.stream("emit_intermediate('begun', 1)\ntime.sleep(60)\nemit_result(1)");
    execution.next().await.expect("it begins");
    execution
}

fn is_shut_down<T>(answer: &Result<T, RuntimeError>) -> bool {
    matches!(answer, Err(RuntimeError::ShutDown))
}

#[tokio::test]
async fn two_configs_of_one_name_live_side_by_side_and_shutdown_ends_both() {
    let Some(runtime) = runtime() else { return };
    let first = sandbox_with(&runtime, SandboxConfig { pool_size: 2, ..config() }).await;
    let second =
        sandbox_with(&runtime, SandboxConfig { pool_size: 2, scratch_size_mb: 32, ..config() }).await;
    first.warm(2).await.unwrap();
    second.warm(2).await.unwrap();
    assert_eq!(data(&run(&first, "emit_result(1)").await), "1");
    assert_eq!(data(&run(&second, "emit_result(2)").await), "2");
    in_time(runtime.shutdown()).await;
    if counts_processes() {
        assert_eq!(processes_below(std::process::id()), Vec::<u32>::new(), "processes are left");
    }
    for sandbox in [first, second] {
        assert!(is_shut_down(&sandbox.run("emit_result(1)").await));
    }
}

#[tokio::test]
async fn after_shutdown_every_clone_says_so() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let (other, clone) = (runtime.clone(), sandbox.clone());
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 1").await.unwrap();
    let execution = long_run(&sandbox).await;
    in_time(runtime.shutdown()).await;
    if counts_processes() {
        assert_eq!(processes(), 0);
    }
    assert!(is_shut_down(&in_time(execution.result()).await), "a run in progress is told why it ended");
    for runtime in [&runtime, &other] {
        assert!(is_shut_down(&runtime.sandbox(config()).await.map(drop)));
        assert!(is_shut_down(&runtime.sandbox(SandboxConfig::new("another")).await.map(drop)));
        assert_eq!(runtime.templates().len(), 0);
    }
    for sandbox in [&sandbox, &clone] {
        assert!(is_shut_down(&in_time(sandbox.run("emit_result(1)")).await));
        assert!(is_shut_down(&in_time(sandbox.stream("emit_result(1)").result()).await));
        assert!(is_shut_down(&in_time(sandbox.session()).await.map(drop)));
        assert!(is_shut_down(&in_time(sandbox.warm(1)).await));
        sandbox.close().await;
        assert!(is_shut_down(&sandbox.run("emit_result(1)").await), "closing it changes nothing");
    }
    for _ in 0..2 {
        assert!(!session.is_alive());
        assert!(is_shut_down(&in_time(session.step("x")).await));
    }
    let error = sandbox.run("1").await.unwrap_err();
    assert_eq!(error.to_string(), "the runtime is shut down and runs nothing more: make another runtime");
    in_time(other.shutdown()).await;
}

#[tokio::test]
async fn shutdown_lets_what_is_in_progress_finish_and_nothing_more_begin() {
    let Some(runtime) = build(Runtime::builder().max_overflow(3)) else { return };
    let (directory, config) = shared();
    let sandbox = sandbox_with(&runtime, config).await;
    let script = "emit_intermediate('begun', 1)\nwhile not os.path.exists('/shared/go'): time.sleep(0.01)\nemit_result(7)";
    let mut execution = sandbox.stream(script);
    execution.next().await.expect("it begins");
    let mut idle = sandbox.session().await.unwrap();
    let mut busy = sandbox.session().await.unwrap();
    let begun = directory.path().join("begun");
    let stepping = tokio::spawn(async move {
        let step = "open('/shared/begun', 'w').close()\nwhile not os.path.exists('/shared/go'): time.sleep(0.01)\nemit_result(8)";
        (busy.step(step).await, busy.step("emit_result(9)").await.map(drop))
    });
    eventually("the step has begun", || begun.exists()).await;
    // No cell is left: this one waits in line.
    let waiting = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.run("emit_result(1)").await }
    });
    eventually("somebody waits", || sandbox.stats().waiting == 1).await;
    let shutdown = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.shutdown_within(HANG).await }
    });
    assert!(is_shut_down(&in_time(waiting).await.unwrap()), "who waits has not begun");
    assert!(is_shut_down(&in_time(idle.step("1")).await.map(drop)), "a step that has not begun");
    assert!(is_shut_down(&sandbox.run("emit_result(1)").await));
    assert!(!shutdown.is_finished());
    std::fs::write(directory.path().join("go"), "").unwrap();
    assert_eq!(data(&in_time(execution.result()).await.unwrap()), "7");
    let (step, next) = in_time(stepping).await.unwrap();
    assert_eq!(data(&step.unwrap()), "8");
    assert!(is_shut_down(&next));
    // An idle session keeps nobody waiting.
    in_time(shutdown).await.unwrap();
    if counts_processes() {
        assert_eq!(processes(), 0);
    }
    drop(idle);
}

#[tokio::test]
async fn shutdown_kills_what_is_in_progress_when_its_grace_is_over_or_somebody_has_less_patience() {
    for grace in [Duration::from_millis(20), Duration::from_secs(3600)] {
        let Some(runtime) = runtime() else { return };
        let sandbox = sandbox_with(&runtime, config()).await;
        let execution = long_run(&sandbox).await;
        let (directory, shared_config) = shared();
        let mut session = sandbox_with(&runtime, shared_config).await.session().await.unwrap();
        let stepping = tokio::spawn(async move {
            session.step("open('/shared/begun', 'w').close()\ntime.sleep(60)").await.map(drop)
        });
        eventually("the step has begun", || directory.path().join("begun").exists()).await;
        let patient = tokio::spawn({
            let runtime = runtime.clone();
            async move { runtime.shutdown_within(grace).await }
        });
        if grace > HANG {
            // A runtime that waits for what is in progress begins nothing.
            in_time(async { while !is_shut_down(&sandbox.run("emit_result(1)").await) {} }).await;
            in_time(runtime.shutdown()).await;
        }
        in_time(patient).await.unwrap();
        assert!(is_shut_down(&in_time(execution.result()).await));
        assert!(is_shut_down(&in_time(stepping).await.unwrap()));
        if counts_processes() {
            assert_eq!(processes(), 0);
        }
    }
}

#[tokio::test]
async fn a_closed_sandbox_ends_its_runs_and_its_template_and_says_so() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size: 1, ..config() }).await;
    let clone = sandbox.clone();
    let execution = long_run(&sandbox).await;
    in_time(sandbox.close()).await;
    if counts_processes() {
        assert_eq!(processes(), 0);
    }
    assert_eq!(runtime.templates().len(), 0);
    let closed = |answer: Result<(), RuntimeError>| {
        assert!(
            matches!(&answer, Err(RuntimeError::SandboxClosed { name }) if name == "default"),
            "{answer:?}"
        );
    };
    closed(in_time(execution.result()).await.map(drop));
    for sandbox in [&sandbox, &clone] {
        closed(in_time(sandbox.run("emit_result(1)")).await.map(drop));
        closed(in_time(sandbox.session()).await.map(drop));
        closed(in_time(sandbox.warm(1)).await);
        in_time(sandbox.close()).await;
    }
    let again = sandbox_with(&runtime, SandboxConfig { pool_size: 1, ..config() }).await;
    assert_eq!(data(&run(&again, "emit_result(1)").await), "1");
}

#[tokio::test]
async fn closing_a_sandbox_leaves_others_of_the_same_config_and_its_sessions_alone() {
    let Some(runtime) = runtime() else { return };
    let (sandbox, other) = (sandbox_with(&runtime, config()).await, sandbox_with(&runtime, config()).await);
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 41").await.unwrap();
    let (mine, theirs) = (long_run(&sandbox).await, long_run(&other).await);
    in_time(sandbox.close()).await;
    assert!(matches!(in_time(mine.result()).await, Err(RuntimeError::SandboxClosed { .. })));
    assert_eq!(data(&run(&other, "emit_result(1)").await), "1");
    assert_eq!(runtime.templates().len(), 1);
    drop(theirs);
    in_time(other.close()).await;
    assert_eq!(data(&session.step("emit_result(x + 1)").await.unwrap()), "42");
    assert_eq!(runtime.templates().len(), 1, "the session holds it");
}

#[tokio::test]
async fn who_waits_too_long_for_a_cell_is_told_so() {
    let builder = Runtime::builder().max_overflow(1).checkout_timeout(Duration::from_millis(20));
    let Some(runtime) = build(builder) else { return };
    let sandbox = sandbox_with(&runtime, config()).await.with_checkout_timeout(HANG);
    let session = sandbox.session().await.unwrap();
    let hurried = sandbox_with(&runtime, config()).await;
    let timed_out = |answer: Result<(), RuntimeError>| {
        let told = matches!(&answer, Err(RuntimeError::Checkout(CheckoutError::TimedOut { in_use: 1, .. })));
        assert!(told, "{answer:?}");
    };
    timed_out(hurried.run("emit_result(1)").await.map(drop));
    timed_out(hurried.session().await.map(drop));
    timed_out(sandbox.clone().with_checkout_timeout(Duration::ZERO).run("1").await.map(drop));
    drop(session);
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
}

/// A server that meets many configs stays flat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_configs_never_have_more_templates_than_there_may_be_and_leave_nothing() {
    const CONFIGS: usize = 500;
    const AT_A_TIME: usize = 16;
    const MOST: usize = 20;
    if !only_on("native", "five hundred images are too many for a daemon") {
        return;
    }
    let Some(runtime) = build(Runtime::builder().max_templates(MOST)) else { return };
    let (next, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let workers: Vec<_> = (0..AT_A_TIME)
        .map(|_| {
            let (runtime, next) = (runtime.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= CONFIGS {
                        return;
                    }
                    let named = SandboxConfig { name: format!("config-{number}"), ..config() };
                    let sandbox = runtime.sandbox(named).await.expect("every config is made ready");
                    let result = run(&sandbox, &format!("emit_result({number})")).await;
                    assert_eq!(data(&result), number.to_string());
                }
            })
        })
        .collect();
    // Helpers are our only children: one for each template, and one that holds a scope.
    let others = usize::from(runtime.capabilities().control_groups.contains(".scope"));
    let zygotes = || children_of(std::process::id()).len().saturating_sub(others);
    while workers.iter().any(|worker| !worker.is_finished()) {
        let (live, running) = (runtime.templates().len(), zygotes());
        assert!(live <= MOST, "{live} templates are live");
        assert!(running <= MOST, "{running} templates have processes");
        most.fetch_max(live, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for worker in workers {
        worker.await.unwrap();
    }
    assert!(next.load(Ordering::SeqCst) >= CONFIGS && most.load(Ordering::SeqCst) > AT_A_TIME);
    runtime.shutdown().await;
    assert_eq!(processes(), 0);
    let of_cells: Vec<_> =
        control_groups_of(std::process::id()).iter().flat_map(|group| directories_in(group)).collect();
    assert_eq!(of_cells, Vec::<PathBuf>::new(), "control groups of cells are left");
}
