//! What calls from Python take, if `python3` has the package.
//!
//! The package measures itself: the same warm runs called from Rust, waited for and awaited, taking
//! turns in one process (`python3 -m belljar.bench --json`).

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::report::Report;
use crate::statistics::Figures;

/// Milliseconds of every run, by how it was called.
type Times = BTreeMap<String, Vec<f64>>;

/// The kinds, as the package calls them, and their rows.
const KINDS: [(&str, &str); 3] = [
    ("from Rust", "in Python: a warm run called from Rust"),
    ("wait()", "in Python: a warm run, wait()"),
    ("await", "in Python: a warm run, await"),
];

pub(super) fn measure(count: usize, report: &mut Report) {
    let Some(times) = ask(count) else {
        report
            .skipped
            .push("calls from Python: python3 has no package belljar, or it cannot run here".into());
        return;
    };
    let mut middles = Vec::new();
    for (kind, row) in KINDS {
        let milliseconds = times.get(kind).into_iter().flatten();
        let found: Vec<_> = milliseconds.map(|ms| Duration::from_secs_f64(ms / 1000.0)).collect();
        middles.extend(Figures::of("", found.clone()).map(|figures| figures.p50_us));
        report.add(row, found);
    }
    if let [rust, waited, awaited] = middles[..] {
        report.add_rate("Python over the Rust call, wait(), p50", (waited - rust) / 1000.0, "ms");
        report.add_rate("Python over the Rust call, await, p50", (awaited - rust) / 1000.0, "ms");
    }
}

fn ask(count: usize) -> Option<Times> {
    let asked = Command::new("python3")
        .args(["-m", "belljar.bench", "--json", "-n", &count.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    serde_json::from_slice(&asked.stdout).ok().filter(|_| asked.status.success())
}
