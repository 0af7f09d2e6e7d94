//! Containers that are taken away: each time there is a verdict, and the pool recovers.

use belljar_runtime::{Sandbox, SandboxConfig, Verdict};

use crate::world::{WHICH, answer, config, containers, docker, eventually, run, runtime, sandbox, strike};

/// A script that has begun for certain, what becomes of it when something is done to its container,
/// and that the next one is fine.
async fn ends_when(
    sandbox: &Sandbox,
    config: &SandboxConfig,
    script: &str,
    strike: impl Fn(&str),
) -> Verdict {
    let mut run = sandbox.stream(format!("emit_log('begun')\n{script}"));
    let event = run.next().await.expect("it begins");
    assert!(format!("{event:?}").contains("begun"), "{event:?}");
    // The only one there is: the stock is one, and it is in use.
    for container in containers(config, "cell") {
        strike(&container);
    }
    let result = tokio::time::timeout(crate::world::HANG, run.result()).await.expect("it hangs").unwrap();
    assert!(result.error.is_some(), "{result:#?}");
    assert_eq!(answer(sandbox, "emit_result(1)").await, 1, "the pool does not recover");
    result.verdict
}

#[tokio::test]
async fn a_container_that_is_killed_gives_a_verdict() {
    let Some(runtime) = runtime() else { return };
    let config = config("killed");
    let sandbox = sandbox(&runtime, config.clone()).await;
    let verdict = ends_when(&sandbox, &config, "time.sleep(100)", |id| strike(&["kill", id])).await;
    assert_eq!(verdict, Verdict::Infra);
    let verdict = ends_when(&sandbox, &config, "while True: pass", |id| strike(&["rm", "-f", id])).await;
    assert_eq!(verdict, Verdict::Infra);
}

#[tokio::test]
async fn a_container_that_is_paused_is_out_of_time() {
    let Some(runtime) = runtime() else { return };
    let mut config = config("paused");
    config.resource_limits.execution_timeout_sec = 2.0;
    let sandbox = sandbox(&runtime, config.clone()).await;
    let verdict = ends_when(&sandbox, &config, "time.sleep(1)", |id| strike(&["pause", id])).await;
    assert_eq!(verdict, Verdict::TimeoutWall);
    eventually("the paused one is removed", || {
        containers(&config, "cell")
            .iter()
            .all(|id| docker(&["inspect", "-f", "{{.State.Paused}}", id]) == "false")
    })
    .await;
}

#[tokio::test]
async fn a_container_out_of_memory_is_an_oom_and_the_next_is_fine() {
    let Some(runtime) = runtime() else { return };
    let mut config = config("oom");
    config.resource_limits.memory_mb = 64;
    config.resource_limits.memory_swap_mb = 65;
    let sandbox = sandbox(&runtime, config.clone()).await;
    for script in [
        "x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1",
        "import subprocess; subprocess.run(['python3', '-c', 'x = bytearray(1 << 29)\\nfor i in range(0, 1 << 29, 4096): x[i] = 1']).check_returncode()",
    ] {
        let result = run(&sandbox, script).await;
        assert_eq!(result.verdict, Verdict::Oom, "{result:#?}");
        assert_eq!(answer(&sandbox, "emit_result(1)").await, 1);
    }
}

#[tokio::test]
async fn an_idle_container_that_dies_is_replaced_before_anybody_gets_it() {
    let Some(runtime) = runtime() else { return };
    let config = config("idle");
    let sandbox = sandbox(&runtime, config.clone()).await;
    let first = answer(&sandbox, &format!("emit_result({WHICH})")).await;
    eventually("it is idle", || sandbox.stats().idle == 1).await;
    for container in containers(&config, "cell") {
        strike(&["kill", &container]);
    }
    eventually("it is noticed", || sandbox.stats().died_idle == 1).await;
    eventually("another is there", || sandbox.stats().idle == 1).await;
    assert_ne!(answer(&sandbox, &format!("emit_result({WHICH})")).await, first);
}

#[tokio::test]
async fn a_supervisor_cannot_be_harmed_by_its_guest() {
    let Some(runtime) = runtime() else { return };
    let config = config("harm");
    let sandbox = sandbox(&runtime, config.clone()).await;
    let which = answer(&sandbox, &format!("emit_result({WHICH})")).await;
    let attack = "import signal
refused = []
for number in range(1, 65):
    if number in (signal.SIGSTOP, signal.SIGCONT): continue
    try: os.kill(1, number)
    except OSError as error: refused.append(number)
for path in ('/proc/1/mem', '/proc/1/fd/0', '/proc/1/fd/1', '/proc/1/environ', '/proc/1/maps'):
    try: open(path, 'rb').read(1); refused.append(path)
    except OSError: pass
emit_result(refused)";
    eventually("it is idle", || sandbox.stats().idle == 1).await;
    assert_eq!(answer(&sandbox, attack).await, serde_json::json!([]));
    eventually("it is idle", || sandbox.stats().idle == 1).await;
    assert_eq!(answer(&sandbox, &format!("emit_result({WHICH})")).await, which, "it is the same, and works");
}
