//! A script calls the tools of an MCP server in a loop. No model is asked between two calls.
//!
//! ```text
//! cargo run --features mcp --example mcp_server -- uvx mcp-server-time
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use belljar::{McpServer, Runtime, SandboxConfig, ToolRegistry};

const SCRIPT: &str = "
times = {}
for city in ['America/Lima', 'Asia/Tokyo', 'Asia/Kathmandu']:
    found = time_convert_time(source_timezone='UTC', time='12:00', target_timezone=city)
    times[city] = found.data['target']['datetime'][11:16] if found.success else found.message
emit_result(times)";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut command = std::env::args().skip(1);
    let program = command.next().ok_or("say which command starts the server")?;
    let server = McpServer::command(program, command).named("time").connect().await?;

    let tools = server.add_to(ToolRegistry::new())?;
    println!("{}", tools.descriptions().stubs());
    let runtime = Runtime::new().await?;
    let sandbox = runtime.sandbox(tools.for_config(SandboxConfig::default())).await?;
    let result = sandbox.run(SCRIPT).await?;
    println!("{}: {}", result.verdict, result.final_data.map_or("nothing".into(), |data| data.to_string()));

    runtime.shutdown().await;
    server.close().await;
    Ok(())
}
