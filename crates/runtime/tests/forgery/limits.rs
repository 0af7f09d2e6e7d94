//! Limits that fire, and guests that say otherwise; guests that claim a limit which did not fire.

use std::time::Duration;

use belljar_runtime::{ExecutionRequest, ExecutionResult, ResourceLimits, Sandbox, SandboxConfig, Verdict};
use belljar_testing::{HANG, config, data, has, run, runtime, sandbox_with};

use crate::attack::{PRELUDE, check_stream};

async fn attack(sandbox: &Sandbox, body: &str, seconds: Option<u64>) -> ExecutionResult {
    let mut request = ExecutionRequest::new(format!("{PRELUDE}\n{body}"));
    if let Some(seconds) = seconds {
        request = request.with_timeout(Duration::from_secs(seconds));
    }
    let mut events = Vec::new();
    let running = sandbox.run_with(request, |event| events.push(event));
    let result = tokio::time::timeout(HANG, running).await.expect("the host waits for ever").unwrap();
    check_stream(&events, &result).unwrap_or_else(|why| panic!("{body}: {why}"));
    assert_eq!(data(&run(sandbox, "emit_result('fine')").await), "\"fine\"", "after {body}");
    result
}

async fn small_sandbox(runtime: &belljar_runtime::Runtime) -> Sandbox {
    let limits = ResourceLimits { memory_mb: 64, pids_limit: 16, ..ResourceLimits::default() };
    sandbox_with(runtime, SandboxConfig { resource_limits: limits, ..config() }).await
}

#[tokio::test]
async fn an_oom_cannot_be_claimed() {
    let Some(runtime) = runtime() else { return };
    let sandbox = small_sandbox(&runtime).await;
    // Where nobody counts, an allocation that fails is known by the interpreter's word alone.
    let raised = if has(&runtime, "cgroup_memory") { Verdict::Exception } else { Verdict::Oom };
    for (body, verdict) in [
        ("os.kill(os.getpid(), 9)", Verdict::Signaled { signal: 9 }),
        (
            "if os.fork() == 0: os.kill(os.getppid(), 9)\nwhile True: time.sleep(1)",
            Verdict::Signaled { signal: 9 },
        ),
        ("os._exit(137)", Verdict::Exited { code: 137 }),
        ("raise MemoryError('the kernel killed it')", raised),
        ("raw(sealed('error', message='oom', oom_kills=7))\nos.kill(os.getpid(), 9)", Verdict::Exception),
        (
            "try: open('/proc/self/oom_score_adj', 'w').write('1000')\nexcept OSError: pass\nos.kill(os.getpid(), 9)",
            Verdict::Signaled { signal: 9 },
        ),
    ] {
        let result = attack(&sandbox, body, None).await;
        assert_eq!(result.verdict, verdict, "{body}: {result:#?}");
    }
}

#[tokio::test]
async fn an_oom_cannot_be_hidden() {
    let Some(runtime) = runtime() else { return };
    if !has(&runtime, "cgroup_memory") {
        return;
    }
    let sandbox = small_sandbox(&runtime).await;
    let eat = "eaten = []\nwhile True: eaten.append(bytearray(1 << 20))";
    for before in [
        "raw(FORGED)",
        "raw(sealed('log', message='exited 0', verdict='ok'))",
        "os.close(900)",
        "os.closerange(0, 4097)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))",
        "try: open('/proc/self/oom_score_adj', 'w').write('-1000')\nexcept OSError: pass",
    ] {
        let result = attack(&sandbox, &format!("{before}\n{eat}"), None).await;
        assert_eq!(result.verdict, Verdict::Oom, "{before}: {result:#?}");
    }
}

#[tokio::test]
async fn a_limit_on_processes_cannot_be_claimed() {
    let Some(runtime) = runtime() else { return };
    let sandbox = small_sandbox(&runtime).await;
    for body in [
        "raise BlockingIOError(11, 'Resource temporarily unavailable')",
        "raise RuntimeError(\"can't start new thread\")",
        "raw(sealed('error', message='pids', forks_refused=9, verdict='pids'))",
        "os.fork = lambda: (_ for _ in ()).throw(BlockingIOError(11, 'no'))\nos.fork().send(None)",
    ] {
        let result = attack(&sandbox, body, None).await;
        assert_eq!(result.verdict, Verdict::Exception, "{body}: {result:#?}");
    }
}

#[tokio::test]
async fn a_limit_on_processes_cannot_be_hidden_behind_another_error() {
    let Some(runtime) = runtime() else { return };
    if !has(&runtime, "cgroup_pids") {
        return;
    }
    let sandbox = small_sandbox(&runtime).await;
    let fill =
        "try:\n    for _ in range(40):\n        if os.fork() == 0: time.sleep(600)\nexcept OSError: pass\n";
    for after in ["raise ValueError('mine')", "raw(sealed('error', message='mine', forks_refused=0))"] {
        let result = attack(&sandbox, &format!("{fill}{after}"), None).await;
        assert_eq!(result.verdict, Verdict::Pids, "{after}: {result:#?}");
    }
}

#[tokio::test]
async fn the_time_limit_can_be_neither_claimed_nor_hidden() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let claim = "raw(sealed('error', message='Script timed out after 600s', timed_out=True))";
    assert_eq!(attack(&sandbox, claim, Some(600)).await.verdict, Verdict::Exception);
    // The harness's own exception, raised by hand and through its alarm, makes no time pass.
    for early in
        ["raise harness.alarm.ScriptTimeout", "os.kill(os.getpid(), signal.SIGALRM)\nwhile True: pass"]
    {
        let result = attack(&sandbox, early, Some(600)).await;
        assert_eq!(result.verdict, Verdict::Exception, "{early}: {result:#?}");
    }
    let endless = "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True: pass";
    for before in [
        "raw(FORGED)",
        "raw(sealed('log', message='script_done'))",
        "os.close(900)",
        "socket.socket(fileno=os.dup(900)).shutdown(socket.SHUT_RDWR)",
        "os.closerange(0, 4097)",
        "print('x')",
    ] {
        let result = attack(&sandbox, &format!("{before}\n{endless}"), Some(1)).await;
        assert_eq!(result.verdict, Verdict::TimeoutWall, "{before}: {result:#?}");
        assert!(result.usage.wall_ms >= 1000.0, "{before}: killed after {} ms", result.usage.wall_ms);
    }
}

#[tokio::test]
async fn a_flood_cannot_be_hidden_behind_a_result() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for flood in [
        "raw(b'x' * (2 << 20), 1)",
        "raw(b'x' * (2 << 20), 2)",
        "raw(b'x' * (2 << 20))",
        "raw(b'\\n' * (2 << 20))",
        "for _ in range(1 << 14): raw(sealed('log', message='x' * 100))",
        "for _ in range(1 << 14): raw(unsealed('log', message='x' * 100))",
    ] {
        let body = format!("raw(sealed('final_result', data='first'))\n{flood}\nwhile True: time.sleep(1)");
        let result = attack(&sandbox, &body, None).await;
        assert_eq!(result.verdict, Verdict::Output, "{flood}: {result:#?}");
        assert_eq!(result.final_data, None, "{flood}");
        assert!(result.output_bytes < 8 << 20, "{flood}: {} bytes were taken in", result.output_bytes);
    }
}
