//! Belljar in hosts of every kind. Each test starts one and looks at what comes of it.

mod foreign;
mod forks;
mod limits;
mod polling;
mod signals;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A bound against hangs, and no assumption about how long anything takes.
const HANG: Duration = Duration::from_secs(60);

/// The host of a kind, not started yet.
fn host(kind: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar-host"));
    command.arg(kind).env("BELLJAR_CACHE", belljar_testing::cache());
    command
}

/// Lets a host run to its end, which must come. Its output.
fn ended(mut command: Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the host can be started");
    let began = Instant::now();
    loop {
        if child.try_wait().expect("it is ours").is_some() {
            return child.wait_with_output().expect("it is ours");
        }
        if began.elapsed() > HANG {
            let _ = child.kill();
            let output = child.wait_with_output().expect("it is ours");
            panic!("the host hangs; it said: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a host that must find everything as it expects.
fn succeeds(command: Command) {
    let output = ended(command);
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}
