//! The same machine at the same time, without a sandbox. The speed of a machine changes, so a
//! figure means something only beside another one.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use super::report::Report;

const SCRIPT: &str = include_str!("yardstick.py");

/// How many children are forked. The number fits a small machine and is not a load test.
const COUNT: usize = 100;

/// The figures.
#[derive(Debug, Deserialize)]
pub(super) struct Yardstick {
    /// Milliseconds per child. They are made one after another, and waited for together.
    pub(super) each_ms: f64,
    first_us: Vec<f64>,
}

/// Measures it and adds its rows. `None` if this process cannot make namespaces in this way.
pub(super) fn measure(count: usize, report: &mut Report) -> Option<Yardstick> {
    match run(&report.python_path, count.min(COUNT)) {
        Ok(yardstick) => {
            let first = yardstick.first_us.iter().map(|micros| Duration::from_secs_f64(micros / 1e6));
            report.add("yardstick: first request, bare namespaces", first.collect());
            report.add_rate("yardstick: forking Python into bare namespaces", yardstick.each_ms, "ms each");
            Some(yardstick)
        }
        Err(error) => {
            report.skipped.push(format!("yardstick: {error}"));
            None
        }
    }
}

fn run(python: &Path, count: usize) -> io::Result<Yardstick> {
    let output = Command::new(python)
        .args(["-I", "-S", "-c", SCRIPT, &count.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(said.lines().last().unwrap_or("it failed").to_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yardstick_answers_every_request_or_says_why_not() {
        match run(Path::new("python3"), 3) {
            Ok(yardstick) => assert_eq!(yardstick.first_us.len(), 3),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
