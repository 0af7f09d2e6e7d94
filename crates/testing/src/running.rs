//! Short ways to a runtime, a sandbox, and what a script gives.

use belljar_runtime::{
    Blueprint, ExecutionResult, ResourceLimits, Runtime, Sandbox, SandboxConfig, Session, ToolSource,
};

use crate::choice::{build, engine, skip};
use crate::waiting::{patience, slowness};

/// A runtime on the engine under test, or `None` with the reason printed where it makes no cells.
#[track_caller]
pub fn runtime() -> Option<Runtime> {
    build(Runtime::builder())
}

/// Whether the kernel enforces a limit for whole process trees here. Without it some verdicts are
/// others.
///
/// # Panics
///
/// When it does not, and `BELLJAR_TEST_REQUIRE` lists the protection.
pub fn has(runtime: &Runtime, protection: &str) -> bool {
    let active = runtime.capabilities().has(protection);
    if !active {
        skip(protection, "not available to this user");
    }
    active
}

/// Says that a claim is about what nobody enforces without isolation.
pub fn needs_isolation(why: &str) -> bool {
    let is_missing = engine() == "local";
    if is_missing {
        println!("local: skipped ({why})");
    }
    is_missing
}

/// The default config without a stock of warm cells: a test makes those it needs. On a slow machine
/// scripts have longer.
pub fn config() -> SandboxConfig {
    let mut config = SandboxConfig { pool_size: 0, ..SandboxConfig::default() };
    config.resource_limits.execution_timeout_sec *= f64::from(slowness());
    config
}

/// A config for a test that raises limits to have room. Where nothing is limited there is room.
fn with_room(mut config: SandboxConfig) -> SandboxConfig {
    let (limits, usual) = (&mut config.resource_limits, ResourceLimits::default());
    if engine() == "local" {
        limits.memory_mb = limits.memory_mb.min(usual.memory_mb);
        limits.cpu_quota = limits.cpu_quota.min(usual.cpu_quota);
    }
    config
}

/// A sandbox of a config.
pub async fn sandbox_with(runtime: &Runtime, config: SandboxConfig) -> Sandbox {
    runtime.sandbox(with_room(config)).await.expect("the sandbox can be made ready")
}

/// A sandbox of the default config with guest tools: file names and their text.
pub async fn sandbox_with_tools(runtime: &Runtime, tools: &[(&str, &str)]) -> Sandbox {
    let blueprint = Blueprint { tools: tool_sources(tools), ..Blueprint::new(config()) };
    runtime.prepare(blueprint, &mut |_| {}).await.expect("the sandbox can be made ready")
}

/// Guest tools: file names and their text.
pub fn tool_sources(tools: &[(&str, &str)]) -> Vec<ToolSource> {
    tools
        .iter()
        .map(|(name, source)| ToolSource { file_name: (*name).into(), source: (*source).into() })
        .collect()
}

/// Runs a script. A run that hangs is a failure.
pub async fn run(sandbox: &Sandbox, script: &str) -> ExecutionResult {
    tokio::time::timeout(patience(), sandbox.run(script))
        .await
        .expect("the run hangs")
        .expect("the run can be made")
}

/// Holds a cell. One that is never made is a failure.
pub async fn session(sandbox: &Sandbox) -> Session {
    let held = tokio::time::timeout(patience(), sandbox.session()).await;
    held.expect("making a cell hangs").expect("a cell can be made")
}

/// The final data of a successful run, as JSON text.
#[track_caller]
pub fn data(result: &ExecutionResult) -> &str {
    assert!(result.success(), "{result:#?}");
    result.final_data.as_ref().expect("a success in PLAN mode has data").as_str()
}

/// The warnings that are not about this machine or this engine. Where limits are weaker, every run
/// says so, and so it does where scripts are not the owner of a place that they may write to.
pub fn about_the_run(warnings: &[String]) -> Vec<&str> {
    let of_the_place = ["limits are weaker here", "scripts write to "];
    let is_about_it = |warning: &&String| !of_the_place.iter().any(|begin| warning.starts_with(begin));
    warnings.iter().filter(is_about_it).map(String::as_str).collect()
}

/// A whole test: a runtime, a default sandbox, one script.
#[macro_export]
macro_rules! run_one {
    ($script:expr) => {{
        let Some(runtime) = $crate::runtime() else { return };
        let sandbox = $crate::sandbox_with(&runtime, $crate::config()).await;
        $crate::run(&sandbox, $script).await
    }};
}
