//! Runs the command under test.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;

/// The outcome of one call.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// Stdout as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// The command with a cache that all tests share, and none of Belljar's variables in its
/// environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(arguments).env("BELLJAR_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    for name in [
        "BELLJAR_SANDBOX",
        "BELLJAR_ENGINE",
        "BELLJAR_TIMEOUT",
        "BELLJAR_MEMORY",
        "BELLJAR_LOG",
        "BELLJAR_LOG_FORMAT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "BELLJAR_WORKSPACES",
        "BELLJAR_ARTIFACTS",
        "RUST_LOG",
    ] {
        command.env_remove(name);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts the command, writes its stdin and waits for its end.
pub(crate) fn finish(mut command: Command, stdin: impl AsRef<[u8]>) -> Outcome {
    let mut child = command.spawn().expect("the binary was built for this test");
    let feeder = feed(&mut child, stdin.as_ref());
    let output = child.wait_with_output().expect("its output can be read");
    feeder.join().expect("writing to a pipe does not panic");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints UTF-8");
    Outcome { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs `belljar <arguments>` with this stdin.
pub(crate) fn belljar(arguments: &[&str], stdin: impl AsRef<[u8]>) -> Outcome {
    finish(command(arguments), stdin)
}

/// Runs `belljar run --json <options> -`.
pub(crate) fn run_json(options: &[&str], script: &str) -> (Outcome, Value) {
    let outcome = belljar(&[&["run", "--json"], options, &["-"]].concat(), script);
    let result = outcome.json();
    (outcome, result)
}

fn feed(child: &mut Child, bytes: &[u8]) -> thread::JoinHandle<()> {
    let (mut stdin, bytes) = (child.stdin.take().expect("stdin is a pipe"), bytes.to_owned());
    // A command that refuses its arguments does not read its stdin.
    thread::spawn(move || drop(stdin.write_all(&bytes)))
}
