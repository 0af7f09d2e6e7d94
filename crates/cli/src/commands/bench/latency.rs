//! One call at a time.

use std::time::{Duration, Instant};

use belljar::{Runtime, RuntimeError, Sandbox, SandboxConfig};

use super::report::Report;
use super::{SCRIPT, bare_config, check};
use crate::error::CliError;

/// How many cells are made at a time.
const ROUND: usize = 20;
/// Long enough for a used cell to be gone.
const REST: Duration = Duration::from_millis(10);
/// The slowest things are measured at most this often.
const SLOWEST: usize = 5;

/// Makes templates from nothing, and keeps the last one. The first search for an interpreter is not
/// counted, because its answer is remembered.
pub(super) async fn cold_templates(
    runtime: &Runtime,
    count: usize,
) -> Result<(Sandbox, Vec<Duration>), RuntimeError> {
    let mut sandbox = runtime.sandbox(bare_config("bench")).await?;
    let mut times = Vec::new();
    for number in 0..count.min(SLOWEST) {
        // Each one has a name of its own, because a prepared sandbox is shared.
        let config = bare_config(&format!("bench-{number}"));
        let begun = Instant::now();
        sandbox = runtime.sandbox(config).await?;
        times.push(begun.elapsed());
    }
    Ok((sandbox, times))
}

pub(super) async fn measure(sandbox: &Sandbox, count: usize, report: &mut Report) -> Result<(), CliError> {
    let rested = warm_runs(sandbox, count, REST).await?;
    let back_to_back = warm_runs(sandbox, count, Duration::ZERO).await?;
    report.add("warm run, never-used cell", rested.runs);
    report.add("  of which request to result", rested.in_cell);
    report.add("warm run, back to back", back_to_back.runs);
    report.add("  of which request to result", back_to_back.in_cell);
    report.add("step in a session on a held cell", session_steps(sandbox, count).await?);
    report.add("cell creation", rested.cells);
    Ok(())
}

pub(super) async fn with_pandas(
    runtime: &Runtime,
    count: usize,
    report: &mut Report,
) -> Result<(), CliError> {
    let config = SandboxConfig { dependencies: vec!["pandas".into()], ..bare_config("bench-pandas") };
    match runtime.sandbox(config).await {
        Ok(sandbox) => {
            let warm = warm_runs(&sandbox, count, REST).await?;
            report.add("warm run, pandas imported ahead", warm.runs);
            report.add("  of which request to result", warm.in_cell);
            report.add("cell creation, pandas imported ahead", warm.cells);
        }
        Err(error) => report.skipped.push(format!("warm run, pandas imported ahead: {error}")),
    }
    Ok(())
}

/// Times to make cells ahead, and of runs in them.
#[derive(Default)]
struct Warm {
    cells: Vec<Duration>,
    /// What the caller sees, from request to result.
    runs: Vec<Duration>,
    /// From the request written to the result built. It leaves out taking the cell from the pool
    /// and giving it up.
    in_cell: Vec<Duration>,
}

async fn warm_runs(sandbox: &Sandbox, count: usize, rest: Duration) -> Result<Warm, CliError> {
    let mut warm = Warm::default();
    while warm.runs.len() < count {
        let round = ROUND.min(count - warm.runs.len());
        for stock in 1..=round {
            let begun = Instant::now();
            sandbox.warm(stock).await?;
            warm.cells.push(begun.elapsed());
        }
        for _ in 0..round {
            if !rest.is_zero() {
                tokio::time::sleep(rest).await;
            }
            let (run, in_cell) = timed_run(sandbox).await?;
            warm.runs.push(run);
            warm.in_cell.push(in_cell);
        }
    }
    Ok(warm)
}

/// Measures one run as its caller sees it.
pub(super) async fn one_run(sandbox: &Sandbox) -> Result<Duration, CliError> {
    timed_run(sandbox).await.map(|(run, _)| run)
}

pub(super) async fn timed_run(sandbox: &Sandbox) -> Result<(Duration, Duration), CliError> {
    let begun = Instant::now();
    let result = sandbox.run(SCRIPT).await?;
    let took = begun.elapsed();
    check(&result)?;
    Ok((took, Duration::from_secs_f64(result.usage.wall_ms / 1e3)))
}

pub(super) async fn session_steps(sandbox: &Sandbox, count: usize) -> Result<Vec<Duration>, CliError> {
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
