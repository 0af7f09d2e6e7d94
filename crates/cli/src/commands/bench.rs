//! `belljar bench`: how fast sandboxes are here, beside what they could not be faster than.
//!
//! Each figure is taken while nothing else goes on: cells are made first and then used, in rounds, so that no call shares the
//! processor with the making of the next cell; and there is a rest after each call, so that none shares it with the end of the last
//! one. What the rest hides, the row "back to back" shows.

mod floor;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belljar::{Blueprint, ExecutionResult, Runtime, RuntimeError, Sandbox, SandboxConfig};
use owo_colors::OwoColorize;
use serde::Serialize;

use crate::args::BenchArgs;
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::machine::Machine;
use crate::printer::{Output, Printer};
use crate::settings;
use crate::statistics::Figures;

/// What every call runs: nothing that costs time by itself.
const SCRIPT: &str = "emit_result({'s': 'ok'})";
/// Cells made at a time.
const ROUND: usize = 20;
/// Long enough for a used cell to be gone.
const REST: Duration = Duration::from_millis(10);
/// How often the slow things are measured, at most.
const SLOW: usize = 20;
/// How often the slowest is.
const SLOWEST: usize = 5;

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    python: String,
    python_path: PathBuf,
    engine: &'static str,
    figures: Vec<Figures>,
}

pub(super) async fn bench(options: BenchArgs) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    let mut interrupts = Interrupts::listen()?;
    let runtime = settings::runtime(BTreeMap::new())?;
    let count = options.count as usize;
    let report = tokio::select! {
        report = measure(&runtime, count, &printer) => report,
        interrupt = interrupts.next() => {
            runtime.shutdown().await;
            return Ok(End::Interrupted(interrupt));
        }
    };
    runtime.shutdown().await;
    let report = report?;
    if options.json {
        printer.json(&report)?;
    } else {
        printer.text(&report.to_text())?;
    }
    Ok(End::Done)
}

async fn measure(runtime: &Runtime, count: usize, printer: &Printer) -> Result<Report, CliError> {
    let say = |what: &str| if printer.has_audience() { printer.note(what) } else { Ok(()) };
    say("measuring templates…")?;
    let (sandbox, templates) = cold_templates(runtime, count.min(SLOWEST)).await?;
    let python = PathBuf::from(&sandbox.report().python_path);
    say("measuring cells…")?;
    let (cells, runs) = warm_runs(&sandbox, count, REST).await?;
    let (_, back_to_back) = warm_runs(&sandbox, count, Duration::ZERO).await?;
    let steps = session_steps(&sandbox, count).await?;
    say("measuring python alone…")?;
    let floor = floor::round_trips(&python, count).map_err(CliError::system("measure a forked python"))?;
    let bare = floor::bare_starts(&python, count.min(SLOW)).map_err(CliError::system("measure python"))?;
    let figures = [
        ("warm run, never-used cell", runs),
        ("warm run, back to back", back_to_back),
        ("step in a session on a held cell", steps),
        ("floor: socket round trip to a forked Python", floor),
        ("cell creation", cells),
        ("cold template start", templates),
        ("python3 -c pass", bare),
    ];
    Ok(Report {
        machine: Machine::here(),
        python: sandbox.report().python.clone(),
        python_path: python,
        engine: runtime.engine_name(),
        figures: figures.into_iter().filter_map(|(what, times)| Figures::of(what, times)).collect(),
    })
}

/// Templates made from nothing; the last is kept. The first look for an interpreter is not counted: its answer is remembered.
async fn cold_templates(runtime: &Runtime, count: usize) -> Result<(Sandbox, Vec<Duration>), RuntimeError> {
    // No stock of its own, so that cells are made only when this file says so.
    let config = SandboxConfig { pool_size: 0, ..SandboxConfig::new("bench") };
    let blueprint = Blueprint { config, tools: Vec::new() };
    let mut sandbox = runtime.prepare(blueprint.clone(), &mut |_| {}).await?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        sandbox = runtime.prepare(blueprint.clone(), &mut |_| {}).await?;
        times.push(begun.elapsed());
    }
    Ok((sandbox, times))
}

/// The times to make cells, and to run a script in each of them after a rest.
async fn warm_runs(
    sandbox: &Sandbox,
    count: usize,
    rest: Duration,
) -> Result<(Vec<Duration>, Vec<Duration>), CliError> {
    let (mut cells, mut runs) = (Vec::with_capacity(count), Vec::with_capacity(count));
    while runs.len() < count {
        let round = ROUND.min(count - runs.len());
        for stock in 1..=round {
            let begun = Instant::now();
            sandbox.warm(stock).await?;
            cells.push(begun.elapsed());
        }
        for _ in 0..round {
            if !rest.is_zero() {
                tokio::time::sleep(rest).await;
            }
            let begun = Instant::now();
            let result = sandbox.run(SCRIPT).await?;
            runs.push(begun.elapsed());
            check(&result)?;
        }
    }
    Ok((cells, runs))
}

async fn session_steps(sandbox: &Sandbox, count: usize) -> Result<Vec<Duration>, CliError> {
    let mut session = sandbox.session().await?;
    check(&session.step(SCRIPT).await?)?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        let result = session.step(SCRIPT).await?;
        times.push(begun.elapsed());
        check(&result)?;
    }
    Ok(times)
}

/// A call that did not do its work has no place among the figures.
fn check(result: &ExecutionResult) -> Result<(), CliError> {
    if result.success() {
        return Ok(());
    }
    let error = result.error.clone().unwrap_or_default();
    Err(CliError::System {
        action: "measure",
        source: std::io::Error::other(format!("{}: {error}", result.verdict)),
    })
}

impl Report {
    fn to_text(&self) -> String {
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
        text
    }
}
