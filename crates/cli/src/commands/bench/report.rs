//! What was measured, for people and for programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use owo_colors::OwoColorize;
use serde::Serialize;

use crate::machine::Machine;
use crate::statistics::Figures;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) python: String,
    pub(super) python_path: PathBuf,
    pub(super) engine: &'static str,
    pub(super) figures: Vec<Figures>,
    pub(super) rates: Vec<Rate>,
    pub(super) skipped: Vec<String>,
}

/// A single number.
#[derive(Debug, Serialize)]
pub(super) struct Rate {
    pub(super) what: String,
    pub(super) value: f64,
    pub(super) unit: &'static str,
}

impl Report {
    /// Adds a row of percentiles, if anything was measured.
    pub(super) fn add(&mut self, what: impl Into<String>, times: Vec<Duration>) {
        self.figures.extend(Figures::of(what, times));
    }

    /// Adds a single number.
    pub(super) fn add_rate(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.rates.push(Rate { what: what.into(), value: (value * 100.0).round() / 100.0, unit });
    }

    pub(super) fn to_text(&self) -> String {
        let Machine { cores, kernel, architecture, cgroups, root } = &self.machine;
        let user = if *root { "root" } else { "ordinary user" };
        let mut text = format!(
            "Linux {kernel}, {architecture}, {cores} cores, cgroups {cgroups}, {user}, Python {} ({}), {} engine\n\n",
            self.python,
            Path::new(&self.python_path).display(),
            self.engine
        );
        let header = format!("{:<45}{:>7}{:>11}{:>11}{:>11}{:>11}", "µs", "n", "p50", "p95", "p99", "max");
        let _ = writeln!(text, "{}", header.bold());
        for Figures { what, count, p50_us, p95_us, p99_us, max_us } in &self.figures {
            let _ = writeln!(
                text,
                "{what:<45}{count:>7}{p50_us:>11.1}{p95_us:>11.1}{p99_us:>11.1}{max_us:>11.1}"
            );
        }
        text.push('\n');
        for Rate { what, value, unit } in &self.rates {
            let _ = writeln!(text, "{what:<45}{value:>18.2} {unit}");
        }
        for skipped in &self.skipped {
            let _ = writeln!(text, "skipped: {skipped}");
        }
        text
    }
}
