//! Short ways to run an attack.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::build;
use belljar_core::Secret;
use belljar_runtime::{ExecutionResult, Runtime, Sandbox, SandboxConfig, Session};

/// Long enough for a loaded machine, short enough to name a hang.
pub(crate) const HANG: Duration = Duration::from_secs(120);

/// A runtime, or `None` with the reason printed where cells cannot be made.
pub(crate) fn runtime() -> Option<Runtime> {
    runtime_with_secrets(BTreeMap::new())
}

/// The same, which knows the values of some secrets.
pub(crate) fn runtime_with_secrets(secrets: BTreeMap<String, Secret>) -> Option<Runtime> {
    build(Runtime::builder().secrets(secrets))
}

/// What a caller gets who asks for nothing, without the stock of warm cells: a test makes those it needs.
pub(crate) fn config() -> SandboxConfig {
    SandboxConfig { pool_size: 0, ..SandboxConfig::default() }
}

pub(crate) async fn sandbox(runtime: &Runtime, config: SandboxConfig) -> Sandbox {
    runtime.sandbox(config).await.expect("the sandbox can be made ready")
}

/// A runtime and a default sandbox of it. Both must stay in scope.
pub(crate) async fn default_sandbox() -> Option<(Runtime, Sandbox)> {
    let runtime = runtime()?;
    let sandbox = sandbox(&runtime, config()).await;
    Some((runtime, sandbox))
}

/// Runs a script with a bound on hangs.
pub(crate) async fn run(sandbox: &Sandbox, script: &str) -> ExecutionResult {
    tokio::time::timeout(HANG, sandbox.run(script))
        .await
        .expect("the run hangs")
        .expect("the run can be made")
}

/// What a script gave as its result.
pub(crate) async fn answer(sandbox: &Sandbox, script: &str) -> serde_json::Value {
    value(&run(sandbox, &with_prelude(script)).await)
}

/// Holds a cell, with a bound on hangs.
pub(crate) async fn session(sandbox: &Sandbox) -> Session {
    let held = tokio::time::timeout(HANG, sandbox.session()).await;
    held.expect("making a cell hangs").expect("a cell can be made")
}

/// What a step of a held cell gave as its result.
pub(crate) async fn step(session: &mut Session, script: &str) -> serde_json::Value {
    let step = session.step(with_prelude(script));
    let result = tokio::time::timeout(HANG, step).await.expect("the step hangs");
    value(&result.expect("the step can be made"))
}

/// Processes below this one that are called so, whatever namespace they are in.
pub(crate) fn processes_below(name: &str) -> Vec<u32> {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = |stat: &str| -> Option<u32> { stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok() };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let is_ours = |pid: &u32| {
        let mut above = parent(&stat(*pid));
        while let Some(pid) = above.filter(|pid| *pid > 1) {
            if pid == std::process::id() {
                return true;
            }
            above = parent(&stat(pid));
        }
        false
    };
    pids.filter(|pid| stat(*pid).contains(&format!("({name})"))).filter(is_ours).collect()
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

/// A script with the attacks' shared tools before it.
pub(crate) fn with_prelude(script: &str) -> String {
    format!("{}\n{script}", include_str!("attacks/prelude.py"))
}

fn value(result: &ExecutionResult) -> serde_json::Value {
    assert!(result.success(), "the attack did not come to its end: {result:#?}");
    let data = result.final_data.as_ref().expect("an attack says what it got");
    serde_json::from_str(data.as_str()).expect("results are JSON")
}
