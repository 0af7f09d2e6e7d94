//! The orchestrator with scripted models and real cells, and the HTTP clients with a server that
//! speaks as the real ones do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod anthropic;
mod failures;
mod interactive;
mod openai;
mod plan;
mod secrets;
mod server;
mod streams;
mod vet;

use std::sync::Arc;

use belljar_agent::model::ScriptedModel;
use belljar_agent::{RunRecord, ToolOrchestrator};
use belljar_runtime::{Runtime, Sandbox, ToolRegistry};
use belljar_testing::{config, in_time};
use serde::Deserialize;

/// A reply with one script.
fn python(script: &str) -> String {
    format!("Here it is.\n\n```python\n{script}\n```\n")
}

fn scripted(scripts: &[&str]) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(scripts.iter().map(|script| python(script))))
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

/// A sandbox with one tool, `add`.
async fn with_add(runtime: &Runtime) -> Sandbox {
    let add = |it: Add| async move { Ok::<_, String>(it.a + it.b) };
    let tools = ToolRegistry::new().host("add", "Adds two numbers.", add).unwrap();
    in_time(runtime.sandbox(tools.for_config(config()))).await.unwrap()
}

async fn run(orchestrator: &ToolOrchestrator, task: impl Into<belljar_agent::Task>) -> RunRecord {
    in_time(orchestrator.run(task)).await.unwrap()
}

/// What the model was told last, the `nth` time it was asked, from 0.
fn told(model: &ScriptedModel, nth: usize) -> String {
    model.asked()[nth].last().unwrap().text.clone()
}

fn result_of(record: &RunRecord) -> Option<&str> {
    record.result.as_ref().map(|json| json.as_str())
}
