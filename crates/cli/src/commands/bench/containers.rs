//! Containers that are reused: what a use costs, and what it costs to clean the container for the
//! next use.

use std::time::{Duration, Instant};

use belljar::{Runtime, Sandbox, SandboxConfig};

use super::latency::{session_steps, timed_run};
use super::load;
use super::report::Report;
use crate::args::BenchArgs;
use crate::error::CliError;

/// How many containers are kept.
const STOCK: usize = 4;
/// How many more are made on demand when those are not enough.
pub(super) const OVERFLOW: usize = 4;
/// A pause between uses, so that none waits for processor time that the last one used up: a
/// container has half a core by default.
const REST: Duration = Duration::from_millis(20);
/// The number of callers of each load.
const CALLERS: [usize; 3] = [1, 2, 8];
/// The slowest things are measured at most this often.
const SLOWEST: usize = 5;

pub(super) async fn measure(runtime: &Runtime, options: &BenchArgs) -> Result<Report, CliError> {
    let count = options.count as usize;
    let config = SandboxConfig { pool_size: 1, ..SandboxConfig::new("bench") };
    let sandbox = runtime.sandbox(config).await?;
    let mut report = super::empty_report(runtime, &sandbox);
    for (what, rest) in [("checkout, run, return", REST), ("the same, back to back", Duration::ZERO)] {
        let cycles = cycles(&sandbox, count, rest).await?;
        report.add(what, cycles.whole);
        report.add("  of which the caller waits for", cycles.runs);
        report.add("  of which request to result", cycles.in_cell);
    }
    report.add("step in a session on a held container", session_steps(&sandbox, count).await?);
    report.add("container creation, until it is ready", creations(runtime, count).await?);
    drop(sandbox);
    let config = SandboxConfig { pool_size: STOCK, ..SandboxConfig::new("bench-load") };
    let sandbox = runtime.sandbox(config).await?;
    load::callers(&sandbox, &CALLERS, STOCK, options, &mut report).await?;
    Ok(report)
}

#[derive(Default)]
struct Cycles {
    whole: Vec<Duration>,
    runs: Vec<Duration>,
    in_cell: Vec<Duration>,
}

/// Measures cycles, each from a clean container to a clean container again.
async fn cycles(sandbox: &Sandbox, count: usize, rest: Duration) -> Result<Cycles, CliError> {
    let mut cycles = Cycles::default();
    sandbox.warm(1).await?;
    for _ in 0..count {
        if !rest.is_zero() {
            tokio::time::sleep(rest).await;
        }
        let begun = Instant::now();
        let (run, in_cell) = timed_run(sandbox).await?;
        sandbox.at_rest().await;
        cycles.whole.push(begun.elapsed());
        cycles.runs.push(run);
        cycles.in_cell.push(in_cell);
    }
    Ok(cycles)
}

/// Makes containers on demand, one after the other, and holds them all.
async fn creations(runtime: &Runtime, count: usize) -> Result<Vec<Duration>, CliError> {
    let sandbox = runtime.sandbox(super::bare_config("bench-cold")).await?;
    let mut times = Vec::new();
    // The first container was made to test the sandbox.
    let mut held = vec![sandbox.session().await?];
    for _ in 0..count.min(SLOWEST).min(OVERFLOW - 1) {
        let begun = Instant::now();
        held.push(sandbox.session().await?);
        times.push(begun.elapsed());
    }
    Ok(times)
}
