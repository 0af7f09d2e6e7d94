//! Forks, threads, zombies, descriptors.

use belljar_runtime::Verdict;
use belljar_testing::data;

use crate::attack::Attack;

const COUNTED: &[&str] = &["cgroup_pids"];

#[tokio::test]
async fn a_fork_bomb() {
    Attack::new().needs(COUNTED).ends_as(Verdict::Pids, "while True: os.fork()").await;
}

#[tokio::test]
async fn a_fork_bomb_that_takes_no_for_an_answer() {
    let attack =
        Attack::new().needs(COUNTED).with(|config| config.resource_limits.execution_timeout_sec = 1.0);
    attack.ends_as(Verdict::TimeoutWall, "while True:\n    try: os.fork()\n    except OSError: pass").await;
}

#[tokio::test]
async fn a_thread_bomb() {
    let script =
        "import threading\nwhile True: threading.Thread(target=threading.Event().wait, daemon=True).start()";
    Attack::new().needs(COUNTED).ends_as(Verdict::Pids, script).await;
}

#[tokio::test]
async fn a_bomb_of_shells() {
    let script = "import subprocess\nheld = []\nwhile True: held.append(subprocess.Popen(['sh', '-c', 'sleep 600 & sleep 600']))";
    Attack::new().needs(COUNTED).ends_as(Verdict::Pids, script).await;
}

#[tokio::test]
async fn a_storm_of_zombies_that_nobody_waits_for() {
    let script = "while True:\n    if os.fork() == 0: os._exit(0)";
    Attack::new().needs(COUNTED).ends_as(Verdict::Pids, script).await;
}

#[tokio::test]
async fn orphans_are_reaped_however_many() {
    let script = "for _ in range(300):\n    pid = os.fork()\n    if pid == 0:\n        os.fork(); os._exit(0)\n    os.waitpid(pid, 0)\n\
                  import time\nwhile len([p for p in os.listdir('/proc') if p.isdigit()]) > 2: time.sleep(0.01)\nemit_result('alone')";
    // Room for orphans that are dead and not yet reaped: on a loaded machine PID 1 may lag behind.
    let attack = Attack::new().with(|config| config.resource_limits.pids_limit = 700);
    if let Some(result) = attack.run(script).await {
        assert_eq!(data(&result), r#""alone""#);
    }
}

#[tokio::test]
async fn daemons_that_left_the_session() {
    let script = "for _ in range(10):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            time.sleep(600)\n        os._exit(0)\n\
                  emit_result('left')";
    if let Some(result) = Attack::new().run(script).await {
        assert_eq!(data(&result), r#""left""#);
    }
}

#[tokio::test]
async fn every_descriptor() {
    let script = "held = []\nwhile True: held.append(os.open('/dev/null', os.O_RDONLY))";
    let result = Attack::new().run(script).await;
    if let Some(result) = result {
        assert_eq!(result.verdict, Verdict::Exception);
        assert!(result.error.unwrap().contains("Too many open files"));
    }
}

#[tokio::test]
async fn forks_that_are_refused_and_a_script_that_does_not_say_so() {
    let script = "made = []\ntry:\n    for _ in range(40):\n        made.append(os.fork())\n        if made[-1] == 0: time.sleep(600)\nexcept OSError: pass\n\
                  emit_result('all went well')";
    let Some(result) = Attack::new().needs(COUNTED).run(script).await else { return };
    assert_eq!(data(&result), r#""all went well""#);
    assert!(result.usage.forks_refused > Some(0), "{result:#?}");
    let told = "the kernel refused to make";
    assert!(result.warnings[0].contains(told) && result.warnings[0].contains("24 at a time"), "{result:#?}");
}

#[tokio::test]
async fn an_honest_run_has_nothing_to_be_warned_of() {
    let script = "import subprocess\nemit_result(subprocess.run(['true']).returncode)";
    let Some(result) = Attack::new().needs(COUNTED).run(script).await else { return };
    assert_eq!((result.usage.oom_kills, result.usage.forks_refused), (Some(0), Some(0)));
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
}
