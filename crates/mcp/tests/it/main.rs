//! MCP servers as tools, with real processes: good ones, and ones that lie, hang and die.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod calls;
mod hostile;
mod official;
mod remote;

use std::path::Path;

use belljar_mcp::{McpConnection, McpServer};
use belljar_runtime::{ExecutionResult, Runtime, Sandbox, ToolRegistry};
use belljar_testing::{config, in_time};

/// The server of these tests, in one of its modes. It takes notes in the file.
fn server(mode: &str, notes: Option<&Path>) -> McpServer {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/server.py");
    let mut words = vec![script.to_owned(), mode.to_owned()];
    words.extend(notes.map(|path| path.to_string_lossy().into_owned()));
    McpServer::command("python3", words).named("test")
}

async fn connect(server: McpServer) -> McpConnection {
    in_time(server.connect()).await.expect("the server is there")
}

/// A sandbox with the tools of a server.
async fn sandbox(runtime: &Runtime, connection: &McpConnection) -> Sandbox {
    let tools = connection.add_to(ToolRegistry::new()).unwrap();
    in_time(runtime.sandbox(tools.for_config(config()))).await.unwrap()
}

async fn run(sandbox: &Sandbox, script: &str) -> ExecutionResult {
    in_time(sandbox.run(script)).await.unwrap()
}
