//! Many cells alive at once.

use std::fs;
use std::time::Instant;

use belljar::Sandbox;

use super::latency::one_run;
use super::report::Report;
use super::yardstick::Yardstick;
use crate::args::BenchArgs;
use crate::error::CliError;
use crate::statistics::Figures;

/// How many cells are kept alive, up to the number that was asked for.
const ALIVE: [usize; 3] = [10, 100, 1000];
/// How many calls are measured beside each number of idle cells.
const CALLS: usize = 10;
/// How many cells' memory is looked at.
const SAMPLE: usize = 20;

pub(super) async fn measure(
    sandbox: &Sandbox,
    options: &BenchArgs,
    yardstick: Option<&Yardstick>,
    report: &mut Report,
) -> Result<(), CliError> {
    let mut first = None;
    for alive in ALIVE.into_iter().filter(|alive| *alive <= options.cells as usize) {
        let before = sandbox.stats().idle;
        let begun = Instant::now();
        sandbox.warm(alive + CALLS).await?;
        let made = (alive + CALLS).saturating_sub(before).max(1);
        let each = begun.elapsed().as_secs_f64() * 1e3 / made as f64;
        report.add_rate(format!("making a cell, up to {alive} alive"), each, "ms each");
        // The yardstick has the same number, and was measured right before.
        if let Some(bare) = yardstick.filter(|_| alive == 100) {
            report.add_rate("  which is, beyond bare namespaces", each - bare.each_ms, "ms each");
        }
        match private_memory() {
            Some(kib) => {
                report.add_rate(format!("private memory of a cell, {alive} alive"), kib / 1024.0, "MiB")
            }
            None => report
                .skipped
                .push("private memory of a cell: /proc/<pid>/smaps_rollup cannot be read".into()),
        }
        let mut times = Vec::new();
        for _ in 0..CALLS {
            times.push(one_run(sandbox).await?);
        }
        let figures = Figures::of(format!("warm run beside {alive} idle cells"), times);
        let p50 = figures.as_ref().map_or(0.0, |figures| figures.p50_us);
        let first = *first.get_or_insert(p50);
        if alive > ALIVE[0] {
            report.add_rate(format!("p50 beside {alive} cells, against {}", ALIVE[0]), p50 / first, "times");
        }
        report.figures.extend(figures);
    }
    Ok(())
}

/// The mean private memory of a cell's two processes, in KiB.
fn private_memory() -> Option<f64> {
    let mut of_cells = Vec::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let path = entry.path();
        let is_init = fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == "belljar-init");
        if !is_init || of_cells.len() == SAMPLE {
            continue;
        }
        let pid = entry.file_name().to_string_lossy().into_owned();
        let child = fs::read_to_string(path.join(format!("task/{pid}/children"))).ok()?;
        let guest = child.split_whitespace().next()?.to_owned();
        of_cells.push(private(&pid)? + private(&guest)?);
    }
    (!of_cells.is_empty()).then(|| of_cells.iter().sum::<f64>() / of_cells.len() as f64)
}

fn private(pid: &str) -> Option<f64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let lines = rollup.lines().filter(|line| line.starts_with("Private_"));
    Some(lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).sum())
}
