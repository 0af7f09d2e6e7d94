//! The tools that these tests call, and sandboxes that have them.

use belljar_runtime::{
    ExecutionRequest, ExecutionResult, HostTool, Runtime, Sandbox, SandboxConfig, ToolRegistry, Verdict,
};
use belljar_testing::{HANG, config, data};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Search {
    /// The words to look for.
    pub(crate) query: String,
    /// How many to find.
    #[serde(default = "ten")]
    pub(crate) limit: u32,
}

fn ten() -> u32 {
    10
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Anything {
    #[serde(default)]
    pub(crate) value: Value,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

pub(crate) fn search() -> HostTool {
    HostTool::new("search", "Search the catalogue", |it: Search| async move {
        match it.query.as_str() {
            "nothing" => Err("there is nothing".to_owned()),
            query => Ok(json!({ "found": query, "limit": it.limit })),
        }
    })
}

pub(crate) fn echo() -> HostTool {
    HostTool::new("echo", "Gives back what it gets", |it: Anything| async move { Ok::<_, String>(it.value) })
        .raising()
}

pub(crate) async fn with(runtime: &Runtime, tools: impl IntoIterator<Item = HostTool>) -> Sandbox {
    with_config(runtime, tools, config()).await
}

pub(crate) async fn with_config(
    runtime: &Runtime,
    tools: impl IntoIterator<Item = HostTool>,
    config: SandboxConfig,
) -> Sandbox {
    let tools = tools.into_iter().try_fold(ToolRegistry::new(), ToolRegistry::with).unwrap();
    runtime.sandbox(tools.for_config(config)).await.unwrap()
}

pub(crate) async fn run(sandbox: &Sandbox, script: impl Into<ExecutionRequest>) -> ExecutionResult {
    tokio::time::timeout(HANG, sandbox.run(script)).await.expect("the run hangs").unwrap()
}

/// What a script emits, which must do so.
pub(crate) async fn emitted(sandbox: &Sandbox, script: &str) -> Value {
    let result = run(sandbox, script).await;
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    serde_json::from_str(data(&result)).unwrap()
}
