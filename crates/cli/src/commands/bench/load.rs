//! Many callers at once. Each run gets a cell that has never run anything.

use std::time::{Duration, Instant};

use belljar::{Runtime, Sandbox, SandboxConfig};
use tokio::task::JoinSet;

use super::latency::one_run;
use super::report::Report;
use crate::args::BenchArgs;
use crate::error::CliError;

/// The number of callers of each load.
const CALLERS: [usize; 4] = [1, 2, 8, 32];
/// The number of calls in the burst.
const BURST: usize = 100;
/// How many warm cells are kept for both. A small service would keep as many.
const STOCK: usize = 8;

pub(super) async fn measure(
    runtime: &Runtime,
    options: &BenchArgs,
    report: &mut Report,
) -> Result<(), CliError> {
    let config = SandboxConfig { pool_size: STOCK, ..SandboxConfig::new("bench-load") };
    let sandbox = runtime.sandbox(config).await?;
    callers(&sandbox, &CALLERS, STOCK, options, report).await?;
    sandbox.warm(STOCK).await?;
    let begun = Instant::now();
    let times = all_at_once(&sandbox, BURST).await?;
    report.add_rate(
        format!("burst of {BURST} on {STOCK} warm cells, until all are done"),
        begun.elapsed().as_secs_f64() * 1e3,
        "ms",
    );
    report.add(format!("a run in a burst of {BURST}"), times);
    Ok(())
}

/// Measures loads with these numbers of callers, one after the other.
pub(super) async fn callers(
    sandbox: &Sandbox,
    loads: &[usize],
    stock: usize,
    options: &BenchArgs,
    report: &mut Report,
) -> Result<(), CliError> {
    for &callers in loads {
        sandbox.warm(stock).await?;
        let begun = Instant::now();
        let times = keep_up(sandbox, callers, Duration::from_secs_f64(options.seconds)).await?;
        let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
        report.add_rate(format!("fresh runs, {callers} callers"), rate, "runs/s");
        report.add(format!("a run among {callers} callers"), times);
    }
    Ok(())
}

async fn keep_up(sandbox: &Sandbox, callers: usize, time: Duration) -> Result<Vec<Duration>, CliError> {
    let until = Instant::now() + time;
    let mut at_work = JoinSet::new();
    for _ in 0..callers {
        let sandbox = sandbox.clone();
        at_work.spawn(async move {
            let mut times = Vec::new();
            while Instant::now() < until {
                times.push(one_run(&sandbox).await?);
            }
            Ok::<_, CliError>(times)
        });
    }
    gather(at_work).await
}

async fn all_at_once(sandbox: &Sandbox, count: usize) -> Result<Vec<Duration>, CliError> {
    let mut at_work = JoinSet::new();
    for _ in 0..count {
        let sandbox = sandbox.clone();
        at_work.spawn(async move { Ok(vec![one_run(&sandbox).await?]) });
    }
    gather(at_work).await
}

async fn gather(mut at_work: JoinSet<Result<Vec<Duration>, CliError>>) -> Result<Vec<Duration>, CliError> {
    let mut all = Vec::new();
    while let Some(times) = at_work.join_next().await {
        match times {
            Ok(times) => all.extend(times?),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    Ok(all)
}
