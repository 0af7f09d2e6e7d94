//! However a host ends, nothing of it stays: not a process, and after the next start not a control
//! group.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use belljar_runtime::SandboxConfig;
use belljar_testing::{config, control_groups_of, eventually, processes_below, runtime, sandbox_with};
use rustix::process::{Pid, Signal, kill_process};

/// Says to the test below that it is the host, and how it shall end.
const ENDING: &str = "BELLJAR_TEST_HOST_ENDING";

/// Not a test of its own: the host that the tests here start, which is this very program again.
#[tokio::test]
async fn as_the_host_of_another_test() {
    let Ok(ending) = std::env::var(ENDING) else { return };
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size: 2, ..config() }).await;
    let mut execution = sandbox.stream(
        "import subprocess\nsubprocess.Popen(['sleep', '600'])\nemit_intermediate('up', 1)\ntime.sleep(600)",
    );
    execution.next().await.expect("the script is under way");
    sandbox.warm(2).await.expect("the stock is full");
    println!("host-is-up");
    // The test counts what there is before it lets us go on.
    let mut word = String::new();
    std::io::stdin().read_line(&mut word).expect("the test writes or hangs up");
    match ending.as_str() {
        "panic" => panic!("as told"),
        "return" => {}
        // Waits for the signal that ends it.
        _ => std::future::pending().await,
    }
}

/// Starts a host and waits until a script of its is under way; what belongs to it.
fn start_host(ending: &str) -> Option<(Child, Vec<u32>)> {
    runtime()?;
    let mut host = Command::new(std::env::current_exe().expect("a running program has a path"))
        .args(["--exact", "hosts::as_the_host_of_another_test", "--nocapture"])
        .env(ENDING, ending)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started again");
    let stdout = BufReader::new(host.stdout.take().expect("piped"));
    let is_up = stdout.lines().map_while(Result::ok).any(|line| line.contains("host-is-up"));
    assert!(is_up, "the host did not come up");
    let below = processes_below(host.id());
    Some((host, below))
}

async fn leaves_nothing(mut host: Child, below: Vec<u32>) {
    let _ = host.wait();
    assert!(
        below.is_empty() || below.len() >= 7,
        "helper, zygote, three cells of two processes each: {below:?}"
    );
    eventually("every process of the host's is gone", || {
        below.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    })
    .await;
    // The next start sweeps what a host that could not tidy up has left.
    drop(runtime());
    assert_eq!(control_groups_of(host.id()), Vec::<PathBuf>::new(), "control groups are left");
}

async fn ends_by(signal: Signal) {
    let Some((host, below)) = start_host("signal") else { return };
    kill_process(Pid::from_child(&host), signal).expect("it is ours");
    leaves_nothing(host, below).await;
}

#[tokio::test]
async fn a_host_that_is_killed_leaves_nothing() {
    ends_by(Signal::KILL).await;
}

#[tokio::test]
async fn a_host_that_is_terminated_leaves_nothing() {
    ends_by(Signal::TERM).await;
}

#[tokio::test]
async fn a_host_that_is_interrupted_leaves_nothing() {
    ends_by(Signal::INT).await;
}

#[tokio::test]
async fn a_host_that_panics_leaves_nothing() {
    let Some((host, below)) = start_host("panic") else { return };
    leaves_nothing(host, below).await;
}

#[tokio::test]
async fn a_host_that_returns_without_a_word_leaves_nothing() {
    let Some((host, below)) = start_host("return") else { return };
    leaves_nothing(host, below).await;
}
