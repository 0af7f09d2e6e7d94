//! What tests share: a runtime, and short ways to run a script.

use std::time::Duration;

pub(crate) use crate::engine::build;
use crate::engine::engine;
use belljar_runtime::{
    Blueprint, ExecutionResult, ResourceLimits, Runtime, Sandbox, SandboxConfig, ToolSource,
};

/// Long enough for a loaded machine, short enough to name a hang.
pub(crate) const HANG: Duration = Duration::from_secs(120);

/// A runtime, or `None` with the reason printed where cells cannot be made.
#[track_caller]
pub(crate) fn runtime() -> Option<Runtime> {
    build(Runtime::builder())
}

/// Whether a limit is enforced by the kernel for whole process trees here; without it some verdicts are others.
pub(crate) fn has(runtime: &Runtime, protection: &str) -> bool {
    let active = runtime.capabilities().has(protection);
    if !active {
        println!("{protection}: skipped (not available to this user)");
    }
    active
}

/// Small, and without a stock: a test's cells are made when it asks for them.
pub(crate) fn config() -> SandboxConfig {
    SandboxConfig { pool_size: 0, ..SandboxConfig::default() }
}

/// Says that a claim is about what nobody enforces without isolation.
pub(crate) fn needs_isolation(why: &str) -> bool {
    let is_missing = engine() == "local";
    if is_missing {
        println!("local: skipped ({why})");
    }
    is_missing
}

/// A config for a test that raises limits only to have room: where nothing is limited there is room.
fn with_room(mut config: SandboxConfig) -> SandboxConfig {
    let (limits, usual) = (&mut config.resource_limits, ResourceLimits::default());
    if engine() == "local" {
        limits.memory_mb = limits.memory_mb.min(usual.memory_mb);
        limits.cpu_quota = limits.cpu_quota.min(usual.cpu_quota);
    }
    config
}

pub(crate) async fn sandbox_with(runtime: &Runtime, config: SandboxConfig) -> Sandbox {
    runtime.sandbox(with_room(config)).await.expect("the sandbox can be made ready")
}

pub(crate) async fn sandbox_with_tools(runtime: &Runtime, tools: &[(&str, &str)]) -> Sandbox {
    let tools = tools
        .iter()
        .map(|(name, source)| ToolSource { file_name: (*name).into(), source: (*source).into() })
        .collect();
    runtime
        .prepare(Blueprint { tools, ..Blueprint::new(config()) }, &mut |_| {})
        .await
        .expect("the sandbox can be made ready")
}

/// Runs a script with a bound on hangs.
pub(crate) async fn run(sandbox: &Sandbox, script: &str) -> ExecutionResult {
    tokio::time::timeout(HANG, sandbox.run(script))
        .await
        .expect("the run hangs")
        .expect("the run can be made")
}

/// A whole test: a runtime, a default sandbox, one script.
#[macro_export]
macro_rules! run_one {
    ($script:expr) => {{
        let Some(runtime) = $crate::support::runtime() else { return };
        let sandbox = $crate::support::sandbox_with(&runtime, $crate::support::config()).await;
        $crate::support::run(&sandbox, $script).await
    }};
}

/// The final data of a successful run, as JSON text.
pub(crate) fn data(result: &ExecutionResult) -> &str {
    assert!(result.success(), "{result:#?}");
    result.final_data.as_ref().expect("a success in PLAN mode has data").as_str()
}

/// Processes below one of ours, whatever namespace they are in. Each test is a process of its own under nextest.
pub(crate) fn processes_below(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut grew = true;
    while grew {
        grew = false;
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
            let parent = rest.split(' ').nth(1).and_then(|word| word.parse().ok());
            if parent.is_some_and(|parent| found.contains(&parent)) && !found.contains(&pid) {
                found.push(pid);
                grew = true;
            }
        }
    }
    found.retain(|pid| *pid != root);
    found
}

/// The name the kernel has for a process.
pub(crate) fn name_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// Ends a process of ours the hard way.
pub(crate) fn kill(pid: u32) {
    signal(pid, rustix::process::Signal::KILL);
}

/// Sends a process of ours a signal.
pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Waits for something that must come about, with a bound against hangs and no assumption about how long it takes.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(HANG, waiting).await.is_ok(), "it never came about that {what}");
}
