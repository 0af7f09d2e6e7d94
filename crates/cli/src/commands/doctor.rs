//! `belljar doctor`: shows what this machine offers, and proves that a script runs on it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use belljar::engine::builder::LayerStore;
use belljar::engine::provision::default_cache_dir;
use belljar::engine::{Capabilities, ProtectionState, ProtectionStatus};
use belljar::{Runtime, Sandbox, SandboxConfig};
use owo_colors::OwoColorize;
use serde::Serialize;

use crate::args::{DoctorArgs, EngineName};
use crate::error::{CliError, with_causes};
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::machine::Machine;
use crate::printer::{Output, Printer};
use crate::settings;
use crate::terminal_text::quoted;

/// Everything that `doctor` found out.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// Whether cells can be made.
    ok: bool,
    protections: Vec<Row>,
    checks: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    state: Health,
    /// What it is for, or why it is missing.
    detail: String,
    /// What to do about it.
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Active,
    Degraded,
    Missing,
    Ok,
    Failed,
}

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
    let system = format!(
        "Linux {}, {}, {} cores, cgroups {}",
        machine.kernel, machine.architecture, machine.cores, machine.cgroups
    );
    report.checks.push(Row::good("kernel", system));
    report.checks.push(Row::good("user", user));
    report.checks.push(cache());
    match settings::runtime_on(engine).await {
        Ok(runtime) => {
            let Capabilities { protections, egress_policy, .. } = runtime.capabilities();
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
        let remedy = "set BELLJAR_CACHE to a directory";
        return Row::bad(
            "cache",
            "neither BELLJAR_CACHE, XDG_CACHE_HOME nor HOME is set".into(),
            Some(remedy),
        );
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

impl Row {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: Health::Ok, detail: detail.into(), remedy: None }
    }

    fn bad(name: &'static str, detail: String, remedy: Option<&str>) -> Self {
        Self { name, state: Health::Failed, detail, remedy: remedy.map(str::to_owned) }
    }

    fn of(protection: &ProtectionStatus) -> Self {
        let ProtectionStatus { name, purpose, state } = protection;
        let (state, detail, remedy) = match state {
            ProtectionState::Active { detail } if detail.is_empty() => {
                (Health::Active, (*purpose).to_owned(), "")
            }
            ProtectionState::Active { detail } => (Health::Active, format!("{purpose} ({detail})"), ""),
            ProtectionState::Degraded { reason, remedy } => {
                (Health::Degraded, reason.clone(), remedy.as_str())
            }
            ProtectionState::Missing { reason, remedy } => (Health::Missing, reason.clone(), remedy.as_str()),
        };
        Self { name, state, detail, remedy: Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty()) }
    }
}

impl Report {
    fn to_text(&self) -> String {
        let mut text = String::new();
        for (title, rows) in [("Protections", &self.protections), ("Machine", &self.checks)] {
            if !rows.is_empty() {
                let _ = writeln!(text, "{}", title.bold());
                rows.iter().for_each(|row| row.write(&mut text));
                text.push('\n');
            }
        }
        let weak = self.protections.iter().filter(|row| row.state != Health::Active).count();
        text.push_str(&match (self.ok, weak) {
            (true, 0) => "Cells can be made here, with every protection.\n".to_owned(),
            (true, 1) => "Cells can be made here, but one protection is degraded or missing.\n".to_owned(),
            (true, weak) => {
                format!("Cells can be made here, but {weak} protections are degraded or missing.\n")
            }
            (false, _) => "No cell can be made here.\n".to_owned(),
        });
        text
    }
}

impl Row {
    fn write(&self, text: &mut String) {
        let state = match self.state {
            Health::Active | Health::Ok => format!("{:<9}", self.state.word()).green().to_string(),
            Health::Degraded => format!("{:<9}", self.state.word()).yellow().to_string(),
            Health::Missing | Health::Failed => format!("{:<9}", self.state.word()).red().to_string(),
        };
        let _ = writeln!(text, "  {:<18}{state} {}", self.name, quoted(&self.detail));
        if let Some(remedy) = &self.remedy {
            let _ = writeln!(text, "  {:<18}{:<9} → {}", "", "", quoted(remedy));
        }
    }
}

impl Health {
    fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
            Self::Ok => "ok",
            Self::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_its_remedy_on_a_line_of_its_own() {
        let state = ProtectionState::Missing {
            reason: "the kernel has none".into(),
            remedy: "use a newer kernel".into(),
        };
        let row = Row::of(&ProtectionStatus { name: "landlock", purpose: "x", state });
        let report = Report { ok: true, protections: vec![row], checks: Vec::new() };
        let text = anstream::adapter::strip_str(&report.to_text()).to_string();
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>().join(" "),
            "landlock missing the kernel has none"
        );
        assert_eq!(lines[2], "→ use a newer kernel");
        assert!(text.ends_with("but one protection is degraded or missing.\n"), "{text}");
    }

    #[test]
    fn the_json_looks_like_this() {
        let lacking =
            |reason: &str| ProtectionState::Degraded { reason: reason.into(), remedy: "do this".into() };
        let missing = ProtectionState::Missing {
            reason: "the kernel has none".into(),
            remedy: "use a newer one".into(),
        };
        let states = [
            ("seccomp", ProtectionState::Active { detail: "on".into() }),
            ("cgroup_cpu", lacking("no")),
            ("landlock", missing),
        ];
        let row = |(name, state)| Row::of(&ProtectionStatus { name, purpose: "what it is for", state });
        let report = Report {
            ok: true,
            protections: states.map(row).into(),
            checks: vec![
                Row::good("kernel", "Linux 6.18"),
                Row::bad("cache", "cannot be written".into(), Some("set BELLJAR_CACHE")),
                Row::bad("first run", "it failed".into(), None),
            ],
        };
        insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
    }
}
