//! Every way a run can end has its own verdict, and the next run works.

use std::time::{Duration, Instant};

use belljar_runtime::{ExecutionRequest, Sandbox, SandboxConfig, Verdict};
use belljar_testing::{
    config, data, has, needs_isolation, processes_below, run, runtime, sandbox_with, slowness,
};

async fn next_run_works(sandbox: &Sandbox) {
    assert_eq!(data(&run(sandbox, "emit_result('fine')").await), "\"fine\"");
}

/// Endless in one way or another; all must end as `timeout_wall`.
async fn ends_by_the_clock(script: &str) {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let request = ExecutionRequest::new(script).with_timeout(Duration::from_secs(1));
    let began = Instant::now();
    let result =
        tokio::time::timeout(Duration::from_secs(60), sandbox.run(request)).await.expect("hangs").unwrap();
    assert_eq!(result.verdict, Verdict::TimeoutWall, "{result:#?}");
    assert!(began.elapsed() >= Duration::from_secs(1), "ended before its time");
    assert!(result.error.unwrap().contains("imed out"));
    next_run_works(&sandbox).await;
    drop(sandbox);
    runtime.shutdown().await;
    assert_eq!(processes_below(std::process::id()), Vec::<u32>::new(), "something of the run is left");
}

#[tokio::test]
async fn an_endless_loop_ends_by_the_clock() {
    ends_by_the_clock("while True: pass").await;
}

#[tokio::test]
async fn a_loop_that_swallows_every_exception_ends_by_the_clock() {
    ends_by_the_clock("while True:\n    try:\n        while True: pass\n    except BaseException: pass")
        .await;
}

#[tokio::test]
async fn c_code_that_never_returns_ends_by_the_clock() {
    ends_by_the_clock("pow(10, 10**9)").await;
}

#[tokio::test]
async fn blocked_signals_do_not_stop_the_clock() {
    ends_by_the_clock(
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nsignal.alarm(0)\nwhile True: pass",
    )
    .await;
}

#[tokio::test]
async fn children_left_behind_go_with_the_run() {
    if needs_isolation("what leaves its process group is not found again") {
        return;
    }
    ends_by_the_clock(
        "import subprocess\nfor _ in range(5): subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
         if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\ntime.sleep(600)",
    )
    .await;
}

#[tokio::test]
async fn a_successful_run_leaves_no_process_behind() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script =
        "import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nemit_result(1)";
    assert_eq!(data(&run(&sandbox, script).await), "1");
    drop(sandbox);
    runtime.shutdown().await;
    assert_eq!(processes_below(std::process::id()), Vec::<u32>::new());
}

#[tokio::test]
async fn each_way_to_die_has_its_own_verdict() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for (script, expected) in [
        ("os._exit(3)", Verdict::Exited { code: 3 }),
        ("os.kill(os.getpid(), 9)", Verdict::Signaled { signal: 9 }),
        ("os.kill(os.getpid(), 15)", Verdict::Signaled { signal: 15 }),
        ("os.abort()", Verdict::Signaled { signal: 6 }),
        ("import ctypes; ctypes.string_at(0)", Verdict::Signaled { signal: 11 }),
        ("def f(): f()\nf()", Verdict::Exception),
        ("import sys; sys.exit(3)", Verdict::Exited { code: 3 }),
        ("import sys; sys.exit('why')", Verdict::Exited { code: 1 }),
        ("import sys; sys.exit(0)", Verdict::NoResult),
        ("raise KeyboardInterrupt", Verdict::Exception),
        ("raise GeneratorExit", Verdict::Exception),
        ("class Odd(BaseException): pass\nraise Odd('x')", Verdict::Exception),
        ("x = 1", Verdict::NoResult),
        ("# nothing at all", Verdict::NoResult),
    ] {
        let result = run(&sandbox, script).await;
        assert_eq!(result.verdict, expected, "{script}: {result:#?}");
        assert!(result.error.is_some(), "{script} gives no reason");
        assert!(!result.success());
    }
    next_run_works(&sandbox).await;
}

#[tokio::test]
async fn too_much_memory_is_an_oom() {
    if needs_isolation("memory is not limited") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let result = run(&sandbox, "x = b'x' * (1 << 30)\nemit_result(len(x))").await;
    assert_eq!(result.verdict, Verdict::Oom, "{result:#?}");
    if !has(&runtime, "cgroup_memory") {
        assert!(result.error.unwrap().contains("MemoryError"));
    }
    next_run_works(&sandbox).await;
}

#[tokio::test]
async fn a_fork_bomb_hits_the_limit_on_processes() {
    if needs_isolation("processes are not limited") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let result = run(&sandbox, "while True: os.fork()").await;
    if has(&runtime, "cgroup_pids") {
        assert_eq!(result.verdict, Verdict::Pids, "{result:#?}");
    } else {
        assert!(!result.success());
    }
    next_run_works(&sandbox).await;
}

#[tokio::test]
async fn a_flood_ends_the_run() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for script in [
        "while True: print('x' * 1000)",
        "import sys\nwhile True: sys.stderr.write('x' * 1000)",
        "import subprocess; subprocess.run(['yes'])",
        "while True: emit_log('x' * 1000)",
        "os.write(1, b'x' * 3_000_000)\nemit_result(1)",
    ] {
        let result = run(&sandbox, script).await;
        assert_eq!(result.verdict, Verdict::Output, "{script}: {:?}", result.error);
        assert_eq!(result.error.as_deref(), Some("Script output exceeded 1,048,576 byte limit"));
    }
    next_run_works(&sandbox).await;
}

#[tokio::test]
async fn a_result_larger_than_all_output_may_be_is_refused_where_it_is_made() {
    let result = belljar_testing::run_one!("emit_result('x' * 100_000_000)");
    assert_eq!(result.verdict, Verdict::Exception);
    assert!(result.error.unwrap().contains("data is 100,000,002 bytes as JSON"));
}

#[tokio::test]
async fn a_cancelled_run_is_killed() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut execution = sandbox.stream("emit_intermediate('started', 1)\nwhile True: pass");
    assert!(execution.next().await.is_some());
    drop(execution);
    drop(sandbox);
    runtime.shutdown().await;
    // The aborted task may not have been polled yet: what it holds is dropped when it is.
    tokio::time::timeout(Duration::from_secs(60), async {
        while !processes_below(std::process::id()).is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("a cancelled run is still there");
}

#[tokio::test]
async fn a_result_stands_whatever_comes_after_it() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for script in [
        "emit_result(1)\nraise ValueError('late')",
        "emit_result(1)\nimport sys\nsys.exit(2)",
        "emit_result(1)\nos._exit(4)",
        "emit_result(1)\nwhile True: pass",
    ] {
        assert_eq!(data(&run(&sandbox, script).await), "1", "{script}");
    }
    let twice = run(&sandbox, "emit_result(1)\nemit_result(2)").await;
    assert_eq!(data(&twice), "1");
    assert!(twice.logs.iter().any(|line| line.message.contains("called again")), "{twice:#?}");
}

#[tokio::test]
async fn usage_is_measured_where_it_can_be() {
    let Some(runtime) = runtime() else { return };
    let limits = belljar_runtime::ResourceLimits { cpu_quota: 1.0, ..Default::default() };
    let sandbox = sandbox_with(&runtime, SandboxConfig { resource_limits: limits, ..config() }).await;
    let script = "t = time.process_time()\nx = bytearray(50 << 20)\n\
                  while time.process_time() - t < 0.3: pass\nemit_result((time.process_time() - t) * 1000)";
    let result = run(&sandbox, script).await;
    // Where memory comes slowly it is more than the script asks for.
    let worked: f64 = data(&result).parse().unwrap();
    let usage = result.usage;
    assert!(usage.wall_ms >= 300.0, "{usage:?}");
    if has(&runtime, "cgroup_memory") {
        let cpu = usage.cpu_ms.unwrap();
        // A cell works before and after its script, too.
        let most = worked + 300.0 * f64::from(slowness());
        assert!((worked * 0.9..most).contains(&cpu), "{worked} ms of work were counted as {cpu} ms");
        let peak = usage.peak_memory_bytes.unwrap();
        assert!((50 << 20..80 << 20).contains(&peak), "50 MiB were counted as {peak}");
    }
}

#[tokio::test]
async fn a_time_limit_that_is_none_is_refused() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for timeout in [Duration::ZERO, Duration::from_secs(86_401)] {
        let error =
            sandbox.run(ExecutionRequest::new("emit_result(1)").with_timeout(timeout)).await.unwrap_err();
        assert!(error.to_string().contains("time limit"), "{error}");
    }
}
