//! Short ways to run an attack: every script has the attacks' shared tools before it.

use std::collections::BTreeMap;

use belljar_core::Secret;
use belljar_runtime::{ExecutionResult, Runtime, Sandbox, Session};
use belljar_testing::{HANG, build, config, run, runtime, sandbox_with};

/// A runtime that knows the values of some secrets.
pub(crate) fn runtime_with_secrets(secrets: BTreeMap<String, Secret>) -> Option<Runtime> {
    build(Runtime::builder().secrets(secrets))
}

/// A runtime and a default sandbox of it. Both must stay in scope.
pub(crate) async fn default_sandbox() -> Option<(Runtime, Sandbox)> {
    let runtime = runtime()?;
    let sandbox = sandbox_with(&runtime, config()).await;
    Some((runtime, sandbox))
}

/// What a script gave as its result.
pub(crate) async fn answer(sandbox: &Sandbox, script: &str) -> serde_json::Value {
    value(&run(sandbox, &with_prelude(script)).await)
}

/// What a step of a held cell gave as its result.
pub(crate) async fn step(session: &mut Session, script: &str) -> serde_json::Value {
    let step = session.step(with_prelude(script));
    let result = tokio::time::timeout(HANG, step).await.expect("the step hangs");
    value(&result.expect("the step can be made"))
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
