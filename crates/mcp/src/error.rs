//! What can go wrong with a server.

use std::path::PathBuf;
use std::time::Duration;

use belljar_engine::{EngineError, Forked};

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// Its program cannot be started.
    #[error(
        "the MCP server `{server}` cannot be started: {program}: {source}. Is it installed, and in PATH?"
    )]
    Start {
        /// The server.
        server: String,
        /// Its program.
        program: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It does not speak, or not as MCP wants it.
    #[error("the MCP server `{server}` cannot be connected to: {reason}{said}")]
    Connect {
        /// The server.
        server: String,
        /// What went wrong.
        reason: String,
        /// The last lines of what it printed, if it is a process: empty, or a sentence.
        said: String,
    },
    /// It said nothing for too long.
    #[error(
        "the MCP server `{server}` was not ready within {} s{said}. One that is installed at its first start needs longer: start it once by hand, or allow more",
        within.as_secs_f64()
    )]
    Silent {
        /// The server.
        server: String,
        /// How long it was waited for.
        within: Duration,
        /// The last lines of what it printed, if it is a process.
        said: String,
    },
    /// What it was told to send along cannot be sent.
    #[error("the MCP server `{server}` cannot be reached: {reason}")]
    Address {
        /// The server.
        server: String,
        /// What is wrong.
        reason: String,
    },
    /// Belljar has no threads to talk to it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The process was forked since.
    #[error(transparent)]
    Forked(#[from] Forked),
}

/// Why a text names no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerTextError {
    /// There is nothing in it.
    #[error(
        "an MCP server is a command, such as \"npx -y some-server\", or an address, such as https://example.com/mcp"
    )]
    Empty,
    /// Its quotes do not match.
    #[error("the command of an MCP server has a quote without an end: {text}")]
    Quotes {
        /// What was given.
        text: String,
    },
    /// A file cannot be read.
    #[error("cannot read MCP servers from {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is not what was expected.
    #[error(
        "{} is no list of MCP servers: {reason}. Expected is {{\"mcpServers\": {{\"name\": {{\"command\": …, \"args\": […]}} or {{\"url\": …}}}}}}",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A server in a file is not what was expected.
    #[error("{}: server `{server}` {reason}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The server.
        server: String,
        /// What is wrong.
        reason: String,
    },
    /// A value names a variable that is not set.
    #[error("{}: server `{server}` wants the environment variable {variable}, which is not set", path.display())]
    Variable {
        /// The file.
        path: PathBuf,
        /// The server.
        server: String,
        /// The variable.
        variable: String,
    },
}
