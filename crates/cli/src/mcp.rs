//! The MCP servers of a command, from their start to their end.

use std::time::Duration;

use anyhow::Context;
use belljar::{McpConnection, McpServer, ToolRegistry};

use crate::args::McpArgs;
use crate::error::CliError;
use crate::printer::Printer;
use crate::progress::Preparation;

/// How long servers have to end, when the command does.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Servers that are connected to.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    connections: Vec<McpConnection>,
}

impl Servers {
    /// Starts all servers at the same time, and waits until each is there.
    pub(crate) async fn connect(
        &mut self,
        options: &McpArgs,
        printer: &Printer,
        verbose: bool,
    ) -> Result<ToolRegistry, CliError> {
        let servers = named(options)?;
        if servers.is_empty() {
            return Ok(ToolRegistry::new());
        }
        let mut preparation = Preparation::new(printer, verbose);
        preparation.connecting(servers.len());
        let mut connecting = tokio::task::JoinSet::new();
        for (place, server) in servers.into_iter().enumerate() {
            connecting.spawn(async move { (place, server.connect().await) });
        }
        let mut connected = Vec::new();
        while let Some(done) = connecting.join_next().await {
            let (place, connection) = done.context("an MCP server")?;
            connected.push((place, connection.map_err(anyhow::Error::from)?));
        }
        drop(preparation);
        connected.sort_by_key(|(place, _)| *place);
        self.connections = connected.into_iter().map(|(_, connection)| connection).collect();
        let mut tools = ToolRegistry::new();
        for connection in &self.connections {
            tools = connection.add_to(tools).map_err(anyhow::Error::from)?;
        }
        Ok(tools)
    }

    /// Ends all of them. Those that never got as far as a connection end, too.
    pub(crate) async fn close(self) {
        for connection in &self.connections {
            connection.close().await;
        }
        McpServer::none_left(END_WITHIN).await;
    }
}

fn named(options: &McpArgs) -> anyhow::Result<Vec<McpServer>> {
    let mut servers = Vec::new();
    for text in &options.mcp {
        servers.push(McpServer::from_text(text).with_context(|| format!("--mcp {text:?}"))?);
    }
    for path in &options.mcp_config {
        servers.extend(McpServer::all_in(path).context("--mcp-config")?);
    }
    Ok(servers)
}
