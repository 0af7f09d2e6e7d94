//! `belljar doctor`: shows what this machine offers, and proves that a script runs on it.

mod report;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use belljar::engine::Capabilities;
use belljar::engine::builder::LayerStore;
use belljar::engine::provision::default_cache_dir;
use belljar::{Runtime, Sandbox, SandboxConfig};

use self::report::{Health, Report, Row};
use crate::args::{DoctorArgs, EngineName};
use crate::error::{CliError, with_causes};
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::machine::Machine;
use crate::printer::{Output, Printer};
use crate::settings;

pub(super) async fn doctor(options: DoctorArgs) -> Result<End, CliError> {
    let mut interrupts = Interrupts::listen()?;
    let report = tokio::select! {
        report = examine(options.engine) => report,
        interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
    };
    let printer = Printer::new(Output::Human);
    if options.json {
        printer.json(&report)?;
    } else {
        printer.text(&report.to_text())?;
    }
    Ok(if report.ok { End::Done } else { End::Unfit })
}

async fn examine(engine: EngineName) -> Report {
    let mut report = Report::default();
    let machine = Machine::here();
    let user = if machine.root { "root" } else { "an ordinary user" };
    let system = format!("Linux {}, {}, {} cores", machine.kernel, machine.architecture, machine.cores);
    report.checks.push(Row::good("kernel", system));
    report.checks.push(Row::good("user", user));
    report.checks.push(cache());
    match settings::runtime_on(engine).await {
        Ok(runtime) => {
            let Capabilities { protections, egress_policy, control_groups, .. } = runtime.capabilities();
            report.checks.push(Row::good("control groups", control_groups.clone()));
            report.protections = protections.iter().map(Row::of).collect();
            let egress = if *egress_policy { "with" } else { "without" };
            report.checks.push(Row::good(
                "engine",
                format!("{}, {egress} network allow-lists", runtime.describe_engine()),
            ));
            report.ok = try_out(&runtime, &mut report.checks).await;
            runtime.shutdown().await;
        }
        Err(error) => report.checks.push(Row::bad("engine", with_causes(&error), None)),
    }
    report
}

/// Makes a sandbox and runs one line in it. Any obstacle shows up here.
async fn try_out(runtime: &Runtime, checks: &mut Vec<Row>) -> bool {
    let config = SandboxConfig { pool_size: 0, ..SandboxConfig::new("doctor") };
    let begun = Instant::now();
    let sandbox = match runtime.sandbox(config).await {
        Ok(sandbox) => sandbox,
        Err(error) => {
            checks.push(Row::bad("first run", with_causes(&error), None));
            return false;
        }
    };
    let python = sandbox.report();
    checks.push(Row::good("python", format!("{} at {}", python.python, python.python_path)));
    if runtime.engine_name() == "native" {
        // With other engines the image's own pip installs.
        checks.push(installer(Path::new(&python.python_path)));
    }
    let row = first_run(&sandbox, begun).await;
    let is_fit = row.state == Health::Ok;
    checks.push(row);
    is_fit
}

async fn first_run(sandbox: &Sandbox, begun: Instant) -> Row {
    const EXPECTED: &str = "42";
    match sandbox.run("emit_result(6 * 7)").await {
        Ok(result) if result.final_data.as_ref().is_some_and(|data| data.as_str() == EXPECTED) => Row::good(
            "first run",
            format!(
                "in {} ms, of which {:.1} ms in the cell",
                begun.elapsed().as_millis(),
                result.usage.wall_ms
            ),
        ),
        Ok(result) => {
            let error = result.error.unwrap_or_else(|| format!("its result was {:?}", result.final_data));
            Row::bad("first run", format!("{}: {error}", result.verdict), None)
        }
        Err(error) => Row::bad("first run", with_causes(&error), None),
    }
}

/// Which program would install dependencies.
fn installer(python: &Path) -> Row {
    let version = |program: &Path, arguments: &[&str]| {
        let answer = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&answer.stdout).lines().next()?.trim().to_owned();
        answer.status.success().then_some(text)
    };
    version(Path::new("uv"), &["--version"])
        .or_else(|| version(python, &["-m", "pip", "--version"]))
        .map(|found| Row::good("installer", found))
        .unwrap_or_else(|| {
            let remedy = "install uv, or pip for this python (apt install python3-pip)";
            Row {
                state: Health::Missing,
                ..Row::bad(
                    "installer",
                    "neither uv nor pip; only sandboxes without dependencies can be made".into(),
                    Some(remedy),
                )
            }
        })
}

fn cache() -> Row {
    let Some(path) = default_cache_dir() else {
        let remedy =
            "set BELLJAR_CACHE to a directory, or HOME (a service: `CacheDirectory=belljar` in its unit)";
        let detail = "none; only sandboxes without dependencies can be made";
        return Row { state: Health::Missing, ..Row::bad("cache", detail.into(), Some(remedy)) };
    };
    let remedy = "set BELLJAR_CACHE to a directory of your own that can be written";
    if let Err(error) = LayerStore::new(path.join("layers")).check() {
        return Row::bad("cache", with_causes(&error), Some(remedy));
    }
    let probe = path.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, "").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => Row::good("cache", path.display().to_string()),
        Err(error) => Row::bad("cache", format!("{}: {error}", path.display()), Some(remedy)),
    }
}
