//! `belljar mcp`: the server for the client that started this process.
//!
//! Stdout is the protocol's alone. Everything else goes to stderr, which clients keep as a log.

use std::time::Duration;

use belljar_server::McpServer;

use super::serve::{Opened, not_started};
use crate::args::McpServerArgs;
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::printer::{Output, Printer};

pub(super) async fn mcp(options: McpServerArgs, verbose: bool) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    let mut opened = Opened::new(&options.offer, options.warm, &printer, verbose).await?;
    // Whoever can start this process needs no token.
    opened.options.needs_token = false;
    // Nobody waits for an answer any more.
    opened.options.limits.drain = Duration::ZERO;
    let runtime = opened.runtime().await?;
    let mut interrupts = Interrupts::listen()?;
    let server = McpServer::open(runtime, opened.options).map_err(not_started)?;
    let stop = async {
        interrupts.next().await;
    };
    let served = server.run(stop).await.map_err(not_started);
    opened.servers.close().await;
    served.map(|()| End::Done)
}
