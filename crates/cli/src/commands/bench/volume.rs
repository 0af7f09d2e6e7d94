//! Much output: a stream of events, and one large result.

use std::time::Instant;

use belljar::config::ResourceLimits;
use belljar::{Runtime, SandboxConfig};

use super::report::Report;
use super::{bare_config, check};
use crate::error::CliError;

/// How many events the stream has.
const EVENTS: usize = 100_000;
/// The large result is measured at most this often.
const LARGE: usize = 20;

pub(super) async fn measure(runtime: &Runtime, count: usize, report: &mut Report) -> Result<(), CliError> {
    let limits = ResourceLimits { max_output_bytes: 256 << 20, cpu_quota: 2.0, ..ResourceLimits::default() };
    let config = SandboxConfig { resource_limits: limits, ..bare_config("bench-volume") };
    let sandbox = runtime.sandbox(config).await?;
    sandbox.warm(1).await?;
    let script = format!("for i in range({EVENTS}): emit_intermediate('i', i)\nemit_result(1)");
    let mut seen = 0usize;
    let begun = Instant::now();
    let result = sandbox.run_with(script, |_| seen += 1).await?;
    let took = begun.elapsed();
    check(&result)?;
    report.add_rate("event stream", seen as f64 / took.as_secs_f64(), "events/s");
    let mut times = Vec::new();
    for _ in 0..count.min(LARGE) {
        sandbox.warm(1).await?;
        let begun = Instant::now();
        let result = sandbox.run("emit_result('x' * 900_000)").await?;
        times.push(begun.elapsed());
        check(&result)?;
    }
    report.add("result of 900 KB", times);
    Ok(())
}
