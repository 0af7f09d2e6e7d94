//! What is left on the daemon when a host is done, one way or another.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use belljar_engine::docker::Docker;
use belljar_runtime::SandboxConfig;

use crate::world::{config, containers, docker, eventually, run, runtime, sandbox, volumes};

/// Tells a child of this test which config to hold.
const HELD: &str = "BELLJAR_TEST_HELD_CONFIG";

#[tokio::test]
async fn shutting_down_leaves_nothing_not_even_what_is_in_use() {
    let Some(runtime) = runtime() else { return };
    let mut config = config("shutdown");
    config.network_policy.allowed_hosts = vec!["example.com".into()];
    let sandbox = sandbox(&runtime, config.clone()).await;
    run(&sandbox, "emit_result(1)").await;
    let session = sandbox.session().await.unwrap();
    assert!(!containers(&config, "cell").is_empty() && containers(&config, "proxy").len() == 1);
    drop(sandbox);
    runtime.shutdown().await;
    eventually("all containers are gone", || {
        containers(&config, "cell").is_empty() && containers(&config, "proxy").is_empty()
    })
    .await;
    eventually("the volume is gone", || volumes(&config).is_empty()).await;
    drop(session);
}

/// Not a test by itself: what a host of the tests below does until it is ended.
#[tokio::test]
async fn as_the_host_of_another_test() {
    let Ok(name) = std::env::var(HELD) else { return };
    let runtime = runtime().expect("the other test found a daemon");
    let mut config = SandboxConfig::new(name);
    config.network_policy.allowed_hosts = vec!["example.com".into()];
    let sandbox = sandbox(&runtime, config).await;
    let _held = sandbox.session().await.unwrap();
    println!("holding");
    std::future::pending::<()>().await;
}

fn host(config: &SandboxConfig) -> Child {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leftovers::as_the_host_of_another_test", "--nocapture"])
        .env(HELD, &config.name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(host.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("holding")), "the host did not get ready");
    host
}

#[tokio::test]
async fn a_host_that_is_killed_leaves_no_container_and_the_next_start_sweeps_the_rest() {
    let Some(_runtime) = runtime() else { return };
    let config = config("sigkill");
    let mut host = host(&config);
    assert!(!containers(&config, "cell").is_empty() && containers(&config, "proxy").len() == 1);
    host.kill().unwrap();
    host.wait().unwrap();
    // By themselves: their stdin ended with the host.
    eventually("no container runs", || {
        let running = format!("label=dev.belljar.config={}", config.name);
        docker(&["ps", "-q", "--filter", &running]).is_empty()
    })
    .await;
    // What is left was never started, or is a volume: the next to connect takes it away.
    let _next = runtime().unwrap();
    eventually("the rest is swept", || {
        containers(&config, "cell").is_empty()
            && containers(&config, "proxy").is_empty()
            && volumes(&config).is_empty()
    })
    .await;
}

#[tokio::test]
async fn two_hosts_on_one_daemon_leave_each_other_alone() {
    let Some(runtime) = runtime() else { return };
    let (ours, theirs) = (config("ours"), config("theirs"));
    let sandbox = sandbox(&runtime, ours.clone()).await;
    let mut other = host(&theirs);
    // It may make more meanwhile; none of these may go.
    let theirs_now =
        || [containers(&theirs, "cell"), containers(&theirs, "proxy"), volumes(&theirs)].concat();
    let before = theirs_now();
    // Created, and never started by a program that is no more.
    let orphan = docker(&[
        "create",
        "--label",
        &format!("dev.belljar.config={}", ours.name),
        "--label",
        "dev.belljar.role=orphan",
        "--label",
        "dev.belljar.controller=x",
        "--label",
        &format!("dev.belljar.process={}", a_process_that_is_over()),
        "python:3.11-slim",
        "true",
    ]);
    let engine = Docker::connect().await.unwrap();
    let pruned = engine.prune(false).await.unwrap();
    // Connecting sweeps too, and may have been first.
    eventually("the orphan is gone", || containers(&ours, "orphan").is_empty()).await;
    assert!(pruned.in_use >= 3, "{pruned:?}, orphan {orphan}");
    let after = theirs_now();
    assert!(before.iter().all(|thing| after.contains(thing)), "{before:?}, and now {after:?}");
    assert_eq!(run(&sandbox, "emit_result(1)").await.final_data.unwrap().as_str(), "1");
    other.kill().unwrap();
    other.wait().unwrap();
}

/// As this engine names processes: this boot and namespace, and a start that is before everything.
fn a_process_that_is_over() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let namespace: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("{}/{namespace}/{}/1", boot.trim(), std::process::id())
}
