//! The protocol over a pipe: one client, who started this process.

use std::sync::Arc;
use std::time::Duration;

use belljar::Runtime;
use rmcp::serve_server;
use rmcp::service::ServerInitializeError;
use tokio::time::{MissedTickBehavior, interval};

use super::handler::Handler;
use crate::guard::Client;
use crate::options::ServerOptions;
use crate::runs::DEFAULT;
use crate::serve::{self, ServeError};
use crate::state::App;

/// A server of MCP for the process at the other end of stdin and stdout.
pub struct McpServer {
    app: Arc<App>,
}

impl McpServer {
    /// Opens everything that it needs. Its history is that of the state directory, whoever else
    /// writes there.
    pub fn open(runtime: Runtime, options: ServerOptions) -> Result<Self, ServeError> {
        Ok(Self { app: serve::open(runtime, options, None)? })
    }

    /// Serves until the client has gone or `stop` is ready. What runs then is cancelled after the
    /// time that the options give it.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let warmed = tokio::spawn(warm(self.app.clone()));
        let served = tokio::select! {
            served = self.serve() => served,
            () = stop => Ok(()),
        };
        warmed.abort();
        serve::end(&self.app).await;
        served
    }

    async fn serve(&self) -> Result<(), ServeError> {
        let handler = Handler::of(self.app.clone(), Client::of_this_machine());
        let running = serve_server(handler, rmcp::transport::stdio()).await;
        let running = match running {
            Ok(running) => running,
            // It has changed its mind.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Client { reason: error.to_string() }),
        };
        let mut sweeps = interval(Duration::from_secs(5));
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = running.waiting();
        tokio::pin!(ended);
        loop {
            tokio::select! {
                _ = &mut ended => return Ok(()),
                _ = sweeps.tick() => self.app.sessions.sweep(),
            }
        }
    }
}

/// Makes the default sandbox ready while the client says hello.
async fn warm(app: Arc<App>) {
    for (name, offered) in app.sandboxes.all() {
        if name == DEFAULT
            && let Err(error) = offered.make_ready(&app.runtime).await
        {
            // The first call says so to those who can do something about it.
            tracing::warn!(%error, "the sandbox could not be made ready");
        }
    }
}
