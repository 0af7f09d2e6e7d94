//! Belljar in hosts of every kind. Each test starts one and looks at what comes of it.

mod foreign;
mod forks;
mod limits;
mod polling;
mod signals;

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;
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
    // Read all the time, or a host with much to say would wait for us.
    let (stdout, stderr) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    let began = Instant::now();
    let status = loop {
        match child.try_wait().expect("it is ours") {
            Some(status) => break Some(status),
            None if began.elapsed() > HANG => break None,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let _ = child.kill();
    let said = |reader: JoinHandle<Vec<u8>>| reader.join().expect("it only reads");
    let (stdout, stderr) = (said(stdout), said(stderr));
    match status {
        Some(status) => Output { status, stdout, stderr },
        None => panic!("the host hangs; it said: {}", String::from_utf8_lossy(&stderr)),
    }
}

fn read_all(from: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    let mut from = from.expect("it is piped");
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = from.read_to_end(&mut said);
        said
    })
}

/// Runs a host that must find everything as it expects.
fn succeeds(command: Command) {
    let output = ended(command);
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}
