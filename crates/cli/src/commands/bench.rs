//! `belljar bench`: how fast sandboxes are on this machine, beside limits that they cannot beat.
//!
//! * `latency`: one call at a time. Cells are made first and then used, in rounds, so that no call
//!   shares the processor with the making of the next cell. After each call there is a rest, so
//!   that no call shares it with the end of the last one. The row "back to back" shows what the
//!   rest hides.
//! * `load`: many callers at once, and a burst. Everything shares the processor with everything.
//! * `density`: many cells alive at once, what each one costs, and whether they slow a call down.
//! * `volume`: much output.
//! * `workspaces`: programs and files in workspaces that stay.
//! * `server`: runs over HTTP.
//! * `floor`: Python without a sandbox. `from_python`: calls from the Python package.
//! * `containers`: instead of the above, the docker engine's containers, which are reused.
//! * `soak`: on request, very many runs, and whether anything grows.

mod containers;
mod density;
mod floor;
mod from_python;
mod latency;
mod load;
mod network;
mod report;
mod server;
mod soak;
mod tools;
mod volume;
mod workspaces;
mod yardstick;

use std::path::PathBuf;

use belljar::engine::{Docker, Local, Native};
use belljar::{ExecutionResult, Runtime, Sandbox, SandboxConfig};

use crate::args::{BenchArgs, EngineName};
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::machine::Machine;
use crate::printer::{Output, Printer};
use report::Report;

/// The script of every call. It does nothing that takes time by itself.
const SCRIPT: &str = "emit_result({'s': 'ok'})";

pub(super) async fn bench(options: BenchArgs) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    let mut interrupts = Interrupts::listen()?;
    let overflow = match (options.soak, options.engine) {
        (Some(_), _) => soak::OVERFLOW,
        (None, EngineName::Docker) => containers::OVERFLOW,
        // Enough for the largest number of cells that is measured.
        (None, EngineName::Native | EngineName::Local) => options.cells as usize + 200,
    };
    let builder = Runtime::builder().max_overflow(overflow);
    let builder = match options.engine {
        EngineName::Native => builder.engine(Native::new()),
        EngineName::Docker => builder.engine(Docker::new().max_uses(options.max_uses)),
        EngineName::Local => builder.engine(Local::new()),
    };
    let runtime = builder.build().await?;
    let report = tokio::select! {
        report = measure(&runtime, &options, &printer) => report,
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

async fn measure(runtime: &Runtime, options: &BenchArgs, printer: &Printer) -> Result<Report, CliError> {
    let say = |what: &str| if printer.has_audience() { printer.note(what) } else { Ok(()) };
    let count = options.count as usize;
    if let Some(runs) = options.soak {
        say("soaking…")?;
        return soak::measure(runtime, runs).await;
    }
    if options.engine == EngineName::Docker {
        say("measuring containers…")?;
        return containers::measure(runtime, options).await;
    }
    say("measuring templates…")?;
    let (sandbox, templates) = latency::cold_templates(runtime, count).await?;
    let mut report = empty_report(runtime, &sandbox);
    say("measuring one call at a time…")?;
    latency::measure(&sandbox, count, &mut report).await?;
    tools::measure(runtime, count, &mut report).await?;
    report.add("cold template start", templates);
    if options.pandas {
        say("measuring with pandas…")?;
        latency::with_pandas(runtime, count, &mut report).await?;
    } else {
        report.skipped.push("warm run, pandas imported ahead: give --pandas".into());
    }
    say("measuring python alone…")?;
    floor::measure(count, &mut report)?;
    from_python::measure(count, &mut report);
    say("measuring many callers…")?;
    load::measure(runtime, options, &mut report).await?;
    say("measuring much output…")?;
    volume::measure(runtime, count, &mut report).await?;
    say("measuring workspaces…")?;
    workspaces::measure(runtime, count, &mut report).await?;
    say("measuring the server…")?;
    server::measure(count, &mut report)?;
    say("measuring the egress proxy…")?;
    network::measure(count, &mut report).await?;
    say("measuring many cells…")?;
    let yardstick = yardstick::measure(count, &mut report);
    density::measure(&sandbox, options, yardstick.as_ref(), &mut report).await?;
    Ok(report)
}

fn empty_report(runtime: &Runtime, sandbox: &Sandbox) -> Report {
    Report {
        machine: Machine::here(),
        python: sandbox.report().python.clone(),
        python_path: PathBuf::from(&sandbox.report().python_path),
        engine: runtime.engine_name(),
        figures: Vec::new(),
        rates: Vec::new(),
        skipped: Vec::new(),
    }
}

/// A config without warm cells, so that cells are made only when a measurement asks for them.
fn bare_config(name: &str) -> SandboxConfig {
    SandboxConfig { pool_size: 0, ..SandboxConfig::new(name) }
}

/// Refuses a call that did not do its work. It must not count in the figures.
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
