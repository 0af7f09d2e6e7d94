//! The clock, processor time, a share of a core.

use belljar_runtime::Verdict;
use belljar_testing::data;

use crate::attack::Attack;

fn one_second() -> Attack {
    Attack::new().with(|config| config.resource_limits.execution_timeout_sec = 1.0)
}

#[tokio::test]
async fn sleep() {
    one_second().ends_as(Verdict::TimeoutWall, "time.sleep(600)").await;
}

#[tokio::test]
async fn a_busy_loop() {
    one_second().ends_as(Verdict::TimeoutWall, "while True: pass").await;
}

#[tokio::test]
async fn c_code_that_looks_at_no_signal() {
    one_second().ends_as(Verdict::TimeoutWall, "pow(10, 10 ** 9)").await;
}

#[tokio::test]
async fn a_regular_expression_without_end() {
    one_second().ends_as(Verdict::TimeoutWall, "re.match('(a+)+$', 'a' * 60 + 'b')").await;
}

#[tokio::test]
async fn signals_blocked_and_ignored() {
    let script = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True:\n    try: time.sleep(600)\n    except BaseException: pass";
    one_second().ends_as(Verdict::TimeoutWall, script).await;
}

#[tokio::test]
async fn a_process_that_stops_itself() {
    one_second().ends_as(Verdict::TimeoutWall, "import signal\nos.kill(os.getpid(), signal.SIGSTOP)").await;
}

#[tokio::test]
async fn a_step_of_a_debugger_that_never_comes() {
    one_second().ends_as(Verdict::TimeoutWall, "r, w = os.pipe()\nos.read(r, 1)").await;
}

/// Counted by the kernel for all processes of a cell together.
fn half_a_second_of_processor() -> Attack {
    let attack = Attack::new().needs(&["cgroup_cpu"]);
    attack.with(|config| {
        config.resource_limits.cpu_time_sec = Some(0.5);
        config.resource_limits.cpu_quota = 2.0;
        config.resource_limits.execution_timeout_sec = 100.0;
    })
}

#[tokio::test]
async fn processor_time() {
    half_a_second_of_processor().ends_as(Verdict::TimeoutCpu, "while True: pass").await;
}

#[tokio::test]
async fn processor_time_of_children_together() {
    let script = "for _ in range(4):\n    if os.fork() == 0:\n        while True: pass\ntime.sleep(600)";
    half_a_second_of_processor().ends_as(Verdict::TimeoutCpu, script).await;
}

#[tokio::test]
async fn processor_time_of_a_script_that_has_closed_everything() {
    let script = "os.closerange(0, 1024)\nwhile True: pass";
    half_a_second_of_processor().ends_as(Verdict::TimeoutCpu, script).await;
}

#[tokio::test]
async fn a_script_within_its_processor_time_is_left_alone() {
    let script = "begun = time.monotonic()\nwhile time.process_time() < 0.1: pass\ntime.sleep(0.7)\nemit_result('done')";
    if let Some(result) = half_a_second_of_processor().run(script).await {
        assert_eq!(data(&result), r#""done""#);
    }
}

#[tokio::test]
async fn half_a_core_is_half_a_core_for_all_its_processes() {
    let attack = Attack::new().needs(&["cgroup_cpu"]).with(|config| config.resource_limits.cpu_quota = 0.5);
    let script = "until = time.monotonic() + 2\nfor _ in range(3): os.fork()\nwhile time.monotonic() < until: pass\n\
                  if os.getpid() != 2: os._exit(0)\nemit_result('done')";
    let Some(result) = attack.run(script).await else { return };
    let share = result.usage.cpu_ms.unwrap() / result.usage.wall_ms;
    // Never more, whatever else runs; how much less depends on that. A tenth for the slice in which
    // it began.
    assert!(share < 0.6, "{:?}", result.usage);
}

#[tokio::test]
async fn many_small_runs() {
    let Some(runtime) = belljar_testing::runtime() else { return };
    let sandbox = belljar_testing::sandbox_with(&runtime, belljar_testing::config()).await;
    for n in 0..60 {
        let result = belljar_testing::run(&sandbox, &format!("emit_result({n})")).await;
        assert_eq!(data(&result), n.to_string());
    }
}
