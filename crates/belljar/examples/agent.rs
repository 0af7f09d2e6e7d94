//! A model writes scripts that call a function of this program. The model is scripted: it makes the
//! mistakes that models make, and needs no key.
//!
//! ```text
//! cargo run --example agent --features agent
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use belljar::agent::{AgentEvent, ScriptedModel, ToolOrchestrator};
use belljar::{Runtime, SandboxConfig, ToolRegistry};

/// What a script calls it with.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Price {
    /// What is to be bought.
    item: String,
}

/// What the model says, each time it is asked.
const REPLIES: [&str; 3] = [
    "Easy:\n```python\ntea = price\nemit_result(tea)\n```",
    "```python\nbill = {'tea': 2, 'cake': 1}\nemit_result(sum(price(item) * n for item, n in bill))\n```",
    "```python\nbill = {'tea': 2, 'cake': 1}\nemit_result(sum(price(item).data * n for item, n in bill.items()))\n```",
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = ToolRegistry::new().host("price", "The price of an item.", |it: Price| async move {
        Ok::<_, String>(if it.item == "tea" { 3 } else { 5 })
    })?;
    let runtime = Runtime::new().await?;
    let sandbox = runtime.sandbox(tools.for_config(SandboxConfig::default())).await?;
    let orchestrator = ToolOrchestrator::new(sandbox, ScriptedModel::new(REPLIES));
    let show = |event| {
        if let AgentEvent::StepEnded { step } = event {
            let ended = step.result.as_ref().map(|result| result.error.clone().unwrap_or("ok".into()));
            let ended = ended.unwrap_or_else(|| step.findings[0].to_string());
            println!("attempt {}: {ended}", step.number);
        }
    };
    let record = orchestrator.run_with("What do two teas and a cake cost?", show).await?;
    println!("{}: {}", record.outcome, record.result.map_or("nothing".into(), |json| json.to_string()));
    runtime.shutdown().await;
    Ok(())
}
