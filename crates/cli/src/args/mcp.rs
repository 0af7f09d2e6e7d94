//! Options that name MCP servers.
//!
//! They are no part of a sandbox file. A server is a program that runs on this machine, outside of
//! every cell. A sandbox file says what is inside of one, and may come from somebody else.

use std::path::PathBuf;

use clap::Args;

/// Servers whose tools scripts can call.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Tools of MCP servers")]
pub(crate) struct McpArgs {
    /// Start this MCP server on this machine, or connect to this address, and let the script call
    /// its tools. May be repeated
    #[arg(long, value_name = "[NAME=]COMMAND|URL")]
    pub(crate) mcp: Vec<String>,
    /// The same with every server of a file `{"mcpServers": {…}}`. May be repeated
    #[arg(long, value_name = "FILE.json")]
    pub(crate) mcp_config: Vec<PathBuf>,
}
