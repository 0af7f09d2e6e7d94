//! `belljar serve`, `belljar mcp`, `belljar token`, `belljar runs`.

use std::net::SocketAddr;
use std::path::PathBuf;

use belljar_server::Scope;
use clap::{Args, Subcommand};

use super::{EngineArgs, McpArgs, SandboxArgs};
use crate::{env, units};

/// Where the server keeps tokens and history.
#[derive(Debug, Clone, Args)]
pub(crate) struct StateArgs {
    /// Where tokens and history are kept [default: belljar in STATE_DIRECTORY or XDG_STATE_HOME, or
    /// in ~/.local/state]
    #[arg(long, value_name = "DIR", env = env::STATE, hide_env_values = true)]
    pub(crate) state: Option<PathBuf>,
}

/// `belljar serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen. An address that other machines can reach needs tokens
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8720")]
    pub(crate) listen: SocketAddr,
    /// A name by which clients reach it, besides `localhost` and addresses. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Vec<String>,
    /// Let every program of this machine use it. Only for an address that no other can reach
    #[arg(long)]
    pub(crate) no_token: bool,
    /// Speak TLS, with this certificate (PEM). SIGHUP reads it again
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Runs at the same time; the others wait [default: 4 for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: Option<u32>,
    /// Requests that may wait; more are told to come again
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) queue: u32,
    /// Cells that are kept ready
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) warm: u32,
    /// The longest request
    #[arg(long, value_name = "SIZE", default_value = "32m", value_parser = units::mebibytes)]
    pub(crate) max_request: u64,
    /// How long runs are kept in the history, in days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) keep_days: u32,
    /// How much of the history is kept
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = units::mebibytes)]
    pub(crate) keep_size: u64,
    /// How long runs may go on after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::seconds)]
    pub(crate) drain: f64,
    #[command(flatten)]
    pub(crate) offer: OfferArgs,
}

/// What clients are to have, over HTTP and over MCP alike.
#[derive(Debug, Args)]
pub(crate) struct OfferArgs {
    /// How long a session stays without a step
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = units::seconds)]
    pub(crate) session_idle: f64,
    /// Offer each NAME.toml in this directory as the sandbox NAME, besides `default`
    #[arg(long, value_name = "DIR")]
    pub(crate) sandboxes: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
    #[command(flatten)]
    pub(crate) mcp: McpArgs,
}

/// `belljar mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpServerArgs {
    /// Cells that are kept ready
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) warm: u32,
    #[command(flatten)]
    pub(crate) offer: OfferArgs,
}

/// `belljar token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, and print it: it is not kept, and cannot be shown again
    New(NewTokenArgs),
    /// List the tokens that there are
    Ls(ListTokensArgs),
    /// Take a token back. A server that runs refuses it from then on
    Rm(RemoveTokenArgs),
}

/// `belljar token new`.
#[derive(Debug, Args)]
pub(crate) struct NewTokenArgs {
    /// What it is for
    pub(crate) name: String,
    /// What it allows: `read` sees every run, `run` runs scripts and sees its own, `admin` may do
    /// everything
    #[arg(long, default_value = "run", value_parser = |name: &str| name.parse::<Scope>())]
    pub(crate) scope: Scope,
    /// Runs at the same time
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<u32>,
    /// Runs that may begin within a minute
    #[arg(long, value_name = "N")]
    pub(crate) per_minute: Option<u32>,
    /// The longest time limit of its runs
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    pub(crate) max_timeout: Option<f64>,
    /// How many days it is good for [default: until it is taken back]
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// `belljar token ls`.
#[derive(Debug, Args)]
pub(crate) struct ListTokensArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// `belljar token rm`.
#[derive(Debug, Args)]
pub(crate) struct RemoveTokenArgs {
    /// Its id, as `belljar token ls` shows it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// `belljar runs`.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs that a server has kept, the newest first
    Ls(ListRunsArgs),
    /// Show one run: its script and its result
    Show(OneRunArgs),
    /// Print what a run printed, or all its events
    Logs(LogsArgs),
}

/// `belljar runs ls`.
#[derive(Debug, Args)]
pub(crate) struct ListRunsArgs {
    /// Only those with this verdict; `running` for those that go on
    #[arg(long, value_name = "VERDICT")]
    pub(crate) verdict: Option<String>,
    /// Only those in this sandbox
    #[arg(long = "in", value_name = "SANDBOX")]
    pub(crate) sandbox: Option<String>,
    /// Only those of the last hours, days or minutes
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    pub(crate) last: Option<f64>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// `belljar runs show`.
#[derive(Debug, Args)]
pub(crate) struct OneRunArgs {
    /// Its id, as `belljar runs ls` shows it
    pub(crate) id: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// `belljar runs logs`.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Its id, as `belljar runs ls` shows it
    pub(crate) id: String,
    /// Print each event as one line of JSON
    #[arg(long)]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) state: StateArgs,
}
