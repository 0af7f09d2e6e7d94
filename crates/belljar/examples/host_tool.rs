//! A script calls a function of this program.
//!
//! ```text
//! cargo run --example host_tool
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use belljar::{Runtime, SandboxConfig, ToolRegistry};

/// What the script calls it with: `price(item, currency="EUR")`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Price {
    /// What is to be bought.
    item: String,
    #[serde(default = "euro")]
    currency: String,
}

fn euro() -> String {
    "EUR".to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = ToolRegistry::new().host("price", "Looks a price up", |it: Price| async move {
        match it.item.as_str() {
            "tea" => Ok(format!("4.20 {}", it.currency)),
            other => Err(format!("nobody sells {other}")),
        }
    })?;
    let runtime = Runtime::new().await?;
    let sandbox = runtime.sandbox(tools.for_config(SandboxConfig::default())).await?;
    let script = "emit_result([price('tea').data, price('time').message])";
    let result = sandbox.run(script).await?;
    println!("{}", result.final_data.map_or("nothing".into(), |data| data.to_string()));
    for call in &result.tool_calls {
        println!("{} took {} ms", call.tool, call.duration_ms);
    }
    runtime.shutdown().await;
    Ok(())
}
