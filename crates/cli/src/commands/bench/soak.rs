//! Very many runs by more callers than there are cells. Is everybody served, and does anything
//! grow?

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use belljar::{Runtime, SandboxConfig};
use tokio::task::JoinSet;

use super::latency::one_run;
use super::report::Report;
use crate::error::CliError;

const CALLERS: u32 = 32;
const STOCK: usize = 4;
/// How many cells may be made beyond the stock.
pub(super) const OVERFLOW: usize = 4;
/// How many runs come before the first look, so that things made once do not count as growth.
const FIRST: u32 = 100;

pub(super) async fn measure(runtime: &Runtime, runs: u32) -> Result<Report, CliError> {
    let config = SandboxConfig { pool_size: STOCK, ..SandboxConfig::new("bench-soak") };
    let sandbox = runtime.sandbox(config).await?;
    let mut report = super::empty_report(runtime, &sandbox);
    for _ in 0..FIRST {
        one_run(&sandbox).await?;
    }
    sandbox.warm(STOCK).await?;
    let before = HeldResources::now();
    let left = Arc::new(AtomicU32::new(runs));
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (sandbox, left) = (sandbox.clone(), Arc::clone(&left));
        callers.spawn(async move {
            let (mut times, mut failures) = (Vec::new(), 0u32);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            {
                match one_run(&sandbox).await {
                    Ok(time) => times.push(time),
                    Err(_) => failures += 1,
                }
            }
            (times, failures)
        });
    }
    let (mut times, mut served, mut failures) = (Vec::<Duration>::new(), Vec::new(), 0);
    while let Some(caller) = callers.join_next().await {
        let (own, failed) = caller.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        served.push(own.len());
        failures += failed;
        times.extend(own);
    }
    let seconds = begun.elapsed().as_secs_f64();
    sandbox.warm(STOCK).await?;
    let after = HeldResources::settled(&before).await;
    report.add_rate("fresh runs, 32 callers on 4 + 4 cells", f64::from(runs) / seconds, "runs/s");
    report.add_rate("runs that failed", f64::from(failures), "");
    report.add_rate("runs of the caller served least", served.iter().copied().min().unwrap_or(0) as f64, "");
    report.add_rate("runs of the caller served most", served.iter().copied().max().unwrap_or(0) as f64, "");
    report.add_rate(
        "growth of the host's memory",
        (after.resident_kib - before.resident_kib) / 1024.0,
        "MiB",
    );
    report.add_rate("growth of open descriptors", after.descriptors - before.descriptors, "");
    report.add_rate("growth of processes below the host", after.processes - before.processes, "");
    report.add("a run, waiting included", times);
    Ok(report)
}

/// What this process holds and could leak.
struct HeldResources {
    resident_kib: f64,
    descriptors: f64,
    processes: f64,
}

impl HeldResources {
    /// Waits until the last cells are gone, and returns what is held then. Cells are destroyed in
    /// the background, so it takes a moment.
    async fn settled(before: &Self) -> Self {
        const PATIENCE: Duration = Duration::from_secs(10);
        let begun = Instant::now();
        loop {
            let now = Self::now();
            let is_settled = now.descriptors <= before.descriptors && now.processes <= before.processes;
            if is_settled || begun.elapsed() > PATIENCE {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        let count = |path: &str| fs::read_dir(path).map_or(0.0, |entries| entries.count() as f64);
        Self {
            resident_kib: resident.unwrap_or(0.0),
            descriptors: count("/proc/self/fd"),
            processes: count_inits() as f64,
        }
    }
}

/// The number of cells' PID 1s on this machine.
fn count_inits() -> usize {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let is_init = |path: std::path::PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == "belljar-init")
    };
    entries.flatten().filter(|entry| is_init(entry.path())).count()
}
